"""Commands; `simhash_hbase.cli.app` imports the module of one when it is called."""
