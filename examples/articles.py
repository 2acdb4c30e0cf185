"""``python examples/articles.py``: a few short articles as files, for the examples of the README pages.

A news agency's two articles (``wire.jsonl``), a newspaper's near copy of the first and an article of its own
(``paper.jsonl``), the near copy by itself as a body of JSON (``paper.json``), and its text alone (``text.json``).
"""

import json
from pathlib import Path

METRO = (
    "市政府昨天召开会议，讨论城市东部的新地铁线路。会议决定，工程将在明年三月开始，预计三年完成，沿线设十二个车站，"
    "其中四个与现有线路相接。交通局负责人介绍，线路建成以后，从东郊到市中心的时间将由七十分钟缩短到二十五分钟。"
    "工程费用由市财政和银行贷款共同承担，票价听取市民意见以后再定。施工期间，两条主要道路将部分封闭，公交车改道行驶。"
)
HEAT = (
    "本市气象台今天早晨发布高温预报：未来三天最高气温将达到三十八度，局部地区超过四十度。卫生部门提醒老人和儿童避免"
    "中午外出，多喝水，注意室内通风。供电公司表示，用电量已接近去年夏天的最高值，将优先保证居民和医院用电。"
    "农业专家建议在早晚灌溉，减少蒸发。"
)
LIBRARY = (
    "新图书馆下月开放，馆内有八十万册图书和六百个座位，全年不休。读者凭身份证即可借书，每次十册，期限一个月。"
    "儿童阅览室设在一层，每周六下午有老师讲故事。馆长说，古籍部收藏的地方志已经全部扫描，任何人都能在网上阅读。"
    "为了方便上班的人，自习室开到夜里十一点。"
)
COPY = METRO.replace("昨天召开会议", "昨日召开会议") + "本报记者报道。"

FILES = {
    "wire.jsonl": [{"id": "wire/1", "text": METRO}, {"id": "wire/2", "text": HEAT}],
    "paper.jsonl": [{"id": "paper/7", "text": COPY}, {"id": "paper/8", "text": LIBRARY}],
    "paper.json": [{"id": "paper/7", "text": COPY}],
    "text.json": [{"text": COPY}],
}


def write_articles(folder: Path) -> None:
    """Write the files into a folder."""
    for name, records in FILES.items():
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / name).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write_articles(Path())
    print("wrote", *FILES)
