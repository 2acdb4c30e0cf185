"""The commands of README's section on the service, carried out as they stand there."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from serving import END_S

README = Path(__file__).parents[2] / "README.md"
PROGRAMS = Path(sys.executable).parent
WIRE = (
    "市政府昨天召开会议，讨论城市东部的新地铁线路。会议决定，工程将在明年三月开始，预计三年完成，沿线设十二个车站，"
    "其中四个与现有线路相接。交通局负责人介绍，线路建成以后，从东郊到市中心的时间将由七十分钟缩短到二十五分钟。"
    "工程费用由市财政和银行贷款共同承担，票价听取市民意见以后再定。施工期间，两条主要道路将部分封闭，公交车改道行驶。"
)
WEATHER = (
    "本市气象台今天早晨发布高温预报：未来三天最高气温将达到三十八度，局部地区超过四十度。卫生部门提醒老人和儿童避免"
    "中午外出，多喝水，注意室内通风。供电公司表示，用电量已接近去年夏天的最高值，将优先保证居民和医院用电。"
    "农业专家建议在早晚灌溉，减少蒸发。"
)
PAPER = WIRE.replace("昨天召开会议", "昨日召开会议") + "本报记者报道。"
# What is another each time.
CHANGING = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=\"request_id\":\")[0-9a-f]{16}")


def told():
    """Return the commands, and what they print."""
    [block] = re.findall(r"<!-- service -->\n```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    lines = block.splitlines()
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return "\n".join(commands), [line for line in lines if not line.startswith("$ ")]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_the_commands_of_the_readme_print_what_it_says(tmp_path):
    records = {
        "wire.jsonl": [{"id": "wire/1", "text": WIRE}, {"id": "wire/2", "text": WEATHER}],
        "paper.json": [{"id": "paper/7", "text": PAPER}],
        "text.json": [{"text": PAPER}],
    }
    for name, lines in records.items():
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    commands, expected = told()
    script = f"trap 'kill $! 2> /dev/null || :' EXIT\n{commands.replace('8080', str(free_port()))}"
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}

    assert shutil.which("curl")
    command = ["bash", "-euo", "pipefail", "-c", script]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=END_S, check=False)

    assert run.returncode == 0, run.stderr.decode()
    printed = run.stdout.decode().replace("\n\n", "\n").splitlines()
    assert [CHANGING.sub("…", line) for line in printed] == [CHANGING.sub("…", line) for line in expected]
