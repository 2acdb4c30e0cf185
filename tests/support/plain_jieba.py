"""jieba itself, imported without its warnings: it leaves a file open and has old escapes."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jieba
    import jieba.analyse

__all__ = ["jieba"]
