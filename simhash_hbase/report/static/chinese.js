// The pages in Chinese, where the browser asks for it first: sentences of the pages are looked up in a dictionary as they
// come. What comes from users is left as it is: ids, titles, texts, reasons, what they type, and data.

const PHRASES = {
  // Both pages.
  "Figures": "统计", "Sections": "本页目录", "as a table": "以表格显示", "unknown": "未知", "documents": "文档",
  "duplicates": "重复", "rows": "行", "prefixes": "前缀", "cells": "单元格", "Compare": "对照", "compare": "对照",

  // The report.
  "Skip to the search box": "跳到搜索框", "Histograms": "分布图", "Clusters": "重复组", "Pairs": "成对对照",
  "Refused records": "被拒绝的记录", "records read": "读入的记录", "kept": "保留", "refused": "拒绝", "nothing": "无",
  "in duplicates": "重复占用", "listed below": "列在下面", "documents and refused records": "文档和被拒绝的记录",
  "the input has no texts": "输入里没有正文", "Distance to the kept document": "与保留文档的汉明距离",
  "Similarity to the kept document": "与保留文档的相似度", "bits of 64 that differ": "64 位中不同的位数",
  "estimated Jaccard similarity of 5-character shingles": "5 字片段的 Jaccard 相似度，估计值",
  "Distances of duplicates to the kept documents": "重复文档与保留文档的距离", "any distance": "任意距离",
  "Clusters and pairs": "重复组和成对对照", "distance": "汉明距离", "order of pairs": "排列次序",
  "least similar first": "相似度低的在前", "most similar first": "相似度高的在前", "most bits first": "距离大的在前",
  "by cluster": "按重复组", "Pairs, side by side": "成对对照", "duplicate": "重复", "bits": "位", "similarity": "相似度",
  "Search ids, titles and texts in this page (press / to come here)": "在本页搜索 id、标题和正文（按 / 跳到这里）",
  "Search ids, titles and texts": "搜索 id、标题和正文", "Its cluster": "所在的重复组", "no differences": "没有差别",
  "Words that only the kept document has are marked": "只有保留文档才有的词标成", "like this": "这样",
  ", those of the duplicate": "，只有重复文档才有的标成", ".": "。", "where": "位置", "why": "原因",
  "A cluster is a kept document with its duplicates. In this page are all of them.":
    "一组是一篇保留文档及其全部重复。本页列出了全部。",
  "In this page are all of them.": "本页列出了全部。", "There are no duplicates.": "没有重复文档。",
  "The input has fingerprints or features of your own, and no texts.": "输入是你自己的指纹或特征，没有正文。",
  "The texts are not available.": "正文取不到。",
  "The text of the kept document is not available: it was in the index before, not in this input. The duplicate begins:":
    "保留文档的正文取不到：它早已在索引里，不在这次的输入里。重复文档的开头是：",
  "The texts are the same.": "正文相同。", "Only blanks and line ends differ.": "只有空白和换行不同。",
  "This was a dry run: nothing was written to the index.": "这是试运行：没有写入索引。",
  "Sources": "来源", "source": "来源", "none": "未注明", "share of duplicates": "重复占比", "largest cluster": "最大重复组",
  "Documents by": "文档按来源：", "Here are all of them. The largest cluster counts the documents of the source only.":
    "这里列出了全部。最大重复组只计该来源的文档。",

  // The report of passages.
  "texts read": "读入的正文", "none was refused": "没有被拒绝的", "with passages": "含有重复段落的", "passages": "段落",
  "spans that stand in other documents": "也出现在别的文档里的段落", "in passages": "段落所占", "Texts": "正文",
  "Documents of a passage": "段落所在的文档数", "Passages by their number of other documents": "段落，按所在的别的文档的篇数",
  "No text has a passage that stands in another document.": "没有一篇正文含有别的文档里的段落。", "characters": "字符",
  "added first": "最早加入的", "holds most": "含得最多的", "1,000 or more": "1,000 或更多",

  // Two documents compared.
  "Two documents compared": "两篇文档对照", "Features": "特征", "of sketches": "按草图估计", "cosine": "余弦相似度",
  "of weighted features": "按加权的特征", "features in both": "共有的特征", "What pulls them apart": "哪些特征把指纹拉开",
  "feature": "特征", "weight in a": "在 a 中的权重", "weight in b": "在 b 中的权重", "share of the gap": "占差距的比例",
  "Side by side": "并排对照",

  // The figures of an index; its charts have the words of the console.
  "Figures of an index": "索引统计", "cut prefixes": "被截断的前缀", "last backup": "最近的备份", "none noted": "没有记录",
  "as the index says": "以索引里的记录为准", "days, UTC": "日期（UTC）", "table": "表", "segment": "段", "start": "起始行键",
  "server": "服务器", "share": "占比",

  // The console.
  "Skip to the search": "跳到查重", "Have I seen this?": "这篇见过吗？",
  "A near-duplicate index of simhash-hbase.": "simhash-hbase 的近重复索引。", "Look up": "查重", "The index": "索引概况",
  "API key": "API 密钥", "Use": "使用", "Forget the key": "清除密钥", "One with the scope read.": "需要有 read 权限。",
  "Kept in this page only, until it is closed or loaded again.": "只留在本页，关闭或刷新后即消失。",
  "What to look for": "查什么", "A text": "一段正文", "A stored document": "已存的文档", "Text": "正文", "Id": "id",
  "Ctrl + Enter looks it up. Nothing is stored.": "按 Ctrl + Enter 查重。不会存下任何内容。",
  "As it was given to add or claim: a URL, for one.": "写入时所用的 id，例如网址。", "Rule and limit": "规则和上限",
  "Rule": "规则", "the index's own": "索引自己的规则", "Distance up to": "距离不超过", "Similarity from": "相似度不低于",
  "Matches at most": "最多列出", "Find near-duplicates": "查找近重复", "One text": "一篇", "The other text": "另一篇",
  "Two texts side by side, their differing words marked. The index keeps no texts: paste both.":
    "两篇正文并排对照，标出不同的词。索引不保存正文，请把两篇都贴进来。",
  "Refresh": "刷新", "simhash-hbase; nothing here was loaded from elsewhere.": "simhash-hbase；本页没有从别处加载任何内容。",
  "OpenAPI description": "OpenAPI 描述", "A key is needed: type it in at the top.": "需要密钥，请在页面上方输入。",
  "Type an id.": "请输入 id。", "Paste a text.": "请贴入正文。", "Paste both texts.": "请把两篇正文都贴进来。",
  "Not seen: no near-duplicate.": "没见过：没有近重复的文档。", "exact copy": "完全相同", "added": "加入于 ",
  "Text that was looked up": "查重的正文", "The index keeps no texts: paste what is missing.": "索引不保存正文，请补上缺的一篇。",
  "Figures come with a key.": "有密钥才能看统计。", "Every row was counted.": "已逐行统计。",
  "Estimated from a sample of the rows.": "由部分行抽样估计。", "This key is not known.": "密钥不对。",
  "The service does not answer.": "服务没有应答。", "Documents": "文档", "Duplicates": "重复", "Rows": "行",
  "Regions": "Region", "Cut prefixes": "被截断的前缀", "that queries find": "可以查到的", "every query reads all": "查询全部读完",
  "queries do not read all of them": "查询没有全部读完", "Documents over time": "各时段的文档",
  "Distances of duplicates": "重复文档的距离", "to their originals, in bits": "与原文相差的位数", "first": "首个",
  "Hottest prefixes": "热点前缀", "Crowding": "拥挤程度", "prefixes by the number of their rows": "前缀，按所含行数",
  "rows that a query of this table reads; table · segment": "查询这张表时读的行数；表 · 段",
  "rows and cells of each, by its first key": "各 Region 的行和单元格，按起始行键",
  "Find a clue": "查线索", "Passages": "段落", "Clue": "线索", "Limit": "上限", "Documents at most": "最多列出的文档",
  "Find documents": "查找文档", "Filter": "筛选", "Documents at least": "所在文档不少于", "Find passages": "查找段落",
  "The documents that hold a sentence, or a part of it. What a document is known to hold is marked; some characters at each end may be missing.":
    "查出含有一句话或其中一部分的文档。标出的是文档里确知有的，两端可能少标几个字。",
  "The parts of a text that stand in other documents, coloured by their number.":
    "正文里哪些段落也出现在别的文档中，按所在文档的篇数着色。",
  "Ctrl + Enter finds them. Nothing is stored.": "按 Ctrl + Enter 查找。不会存下任何内容。",
  "Type a clue, such as a sentence.": "请输入线索，例如一句话。",
  "Not found: no document holds a part of it.": "没找到：没有一篇文档含有其中的任何部分。",
  "No passage of the text stands in other documents.": "正文里没有一段出现在别的文档中。",
};

const BARS = { "a bar a day": "一柱一天", "a bar for seven days": "一柱七天", "a bar for 30 days": "一柱三十天",
  "a bar for 365 days": "一柱一年" };
const LIMITS = { "similarity from": "相似度不低于", "share of rare passages from": "罕见段落的占比不低于", "distance up to": "距离不超过" };
const MORE = {
  "A limit cut this answer: there may be more.": "答案被上限截断，可能还有。",
  "Complete: every document within the distance is here.": "完整：距离以内的文档全在这里。",
  "The text is short: edited copies may be missed, exact ones are found.": "正文太短：改过的副本可能漏掉，完全相同的不会。",
  "A query for one finds the other.": "查一篇能找到另一篇。",
  "Whether a query for one finds the other is not known.": "查一篇能否找到另一篇，无从得知。",
  "A query for one does not find the other.": "查一篇找不到另一篇。",
  "Whether a query for one finds the other depends on which of their passages are rare in the index.": "查一篇能否找到另一篇，取决于索引里哪些段落罕见。",
  "Their words are the same.": "两篇的词完全相同。",
  "Complete: every document that holds the whole clue is here.": "完整：含有整条线索的文档全在这里。",
  "A limit was reached: documents that hold a part of it may be missing.": "已达上限：只含线索一部分的文档可能有遗漏。",
  "Not complete: the clue is short, and documents that hold it may be missing.": "不完整：线索太短，含有它的文档可能有遗漏。",
};
const COUNTED = { "every row was counted": "已逐行统计", "estimated from a sample of the rows": "由部分行抽样估计" };
const RULES = { first: "第一篇", longest: "最长的一篇" };
const chosen = (kept) => RULES[kept.replace("the ", "")] ?? `按 ${kept.replace("that of ", "")} 排在最前的一篇`;
const similar = (value) => (value === "unknown" ? "未知" : value);

// Sentences with figures in them.
const SENTENCES = [
  [/^([\d,]+) bits?$/, (n) => `${n} 位`],
  [/^([\d,]+) duplicates?$/, (n) => `${n} 篇重复`],
  [/^([\d,]+) differences?$/, (n) => `${n} 处不同`],
  [/^similarity ([\d.]+|unknown)$/, (value) => `相似度 ${similar(value)}`],
  [/^· ([\d,]+) characters?$/, (n) => `· ${n} 字`],
  [/^Show ([\d,]+) equal characters?$/, (n) => `展开相同的 ${n} 字`],
  [/^Show ([\d,]+) more of ([\d,]+)$/, (n, rest) => `再显示 ${n} 项，还剩 ${rest} 项`],
  [/^([\d,]+) equal characters? left out of this page$/, (n) => `本页略去相同的 ${n} 字`],
  [/^left out of this page: ([\d,]+) characters? of the kept text, ([\d,]+) of the duplicate$/,
    (left, right) => `本页略去保留文档的 ${left} 字、重复文档的 ${right} 字`],
  [/^and ([\d,]+) more duplicates?, not listed in this page$/, (n) => `另有 ${n} 篇重复，本页没有列出`],
  [/^([\d,]+) clusters? and ([\d,]+) pairs? in this page$/, (groups, pairs) => `本页有 ${groups} 组、${pairs} 对`],
  [/^([\d,]+) of ([\d,]+) clusters?, ([\d,]+) of ([\d,]+) pairs? in this page match$/,
    (a, b, c, d) => `本页符合条件的：${b} 组中的 ${a} 组，${d} 对中的 ${c} 对`],
  [/^Compared are the first ([\d,]+) characters of each\.$/, (n) => `只比较了每篇的前 ${n} 字。`],
  [/^([\d.]+%) of the records$/, (share) => `占记录的 ${share}`],
  [/^([\d.]+%), in ([\d,]+) clusters?$/, (share, n) => `占 ${share}，分成 ${n} 组`],
  [/^([\d,]+) of ([\d,]+) bytes of (.+): ([\d.]+%)$/, (part, whole, _what, share) => `${whole} 字节正文中的 ${part} 字节：${share}`],
  [/^highest bar: ([\d,]+)$/, (n) => `最高的柱：${n}`],
  [/^at most ([\d.]+)$/, (n) => `不超过 ${n}`],
  [/^at least ([\d.]+)$/, (n) => `不低于 ${n}`],
  [/^(.+): ([\d,]+ (?:documents|duplicates|rows|prefixes|cells)(?:, [\d,]+ \w+)?)$/, (label, counts) =>
    `${label}：${counts.split(/, (?=[\d,]+ )/).map((count) => count.replace(/^(\S+) (\w+)$/, (_, n, noun) => `${PHRASES[noun]} ${n}`)).join("，")}`],
  [/^(.+); the table below has the figures$/, (title) => `${translated(title) ?? title}；数值见下表`],
  [/^([\d.]+): ([\d,]+)$/, (label, n) => `${label}：${n}`],
  [/^(distance|similarity) (?:from )?([\d.]+)(?: to (below )?([\d.]+))?(?:: ([\d,]+))?$/, (what, from, open, to, n) =>
    `${PHRASES[what]} ${from}${to ? ` 到 ${to}${open ? "（不含）" : ""}` : ""}${n ? `：${n}` : ""}`],
  [/^A cluster is a kept document with its duplicates\. In this page are ([\d,]+) of ([\d,]+): the largest.*$/,
    (n, all) => `一组是一篇保留文档及其全部重复。本页列出 ${all} 组中的 ${n} 组：最大的，以及下面各对所在的。`],
  [/^In this page are ([\d,]+) of ([\d,]+): .*$/, (n, all) => `本页列出 ${all} 对中选出的 ${n} 对。`],
  [/^(In this page are .+) Words that only the kept document has are marked$/,
    (which) => `${translated(which) ?? which}${PHRASES["Words that only the kept document has are marked"]}`],
  [/^Of ([\d,]+) duplicates? the similarity is unknown: it takes a sketch on both sides\.$/,
    (n) => `${n} 篇重复的相似度未知：两边都要有草图。`],
  [/^([\d,]+) documents? (?:is|are) so short that edited copies of (?:it|them) may have been missed\.$/,
    (n) => `${n} 篇文档太短，改过的副本可能漏掉。`],
  [/^([\d,]+) documents? (?:is|are) a duplicate of one that was removed from the index or changed since\.$/,
    (n) => `${n} 篇文档所重复的原文已从索引删除，或者已经改动。`],
  [/^Here are all of them; the rest of the input went on\. (.*)$/, (advice) => `这里列出了全部；其余输入照常处理。${saved(advice)}`],
  [/^Here are the first ([\d,]+) of ([\d,]+); the rest of the input went on\. (.*)$/,
    (n, all, advice) => `这里列出 ${all} 条中的前 ${n} 条；其余输入照常处理。${saved(advice)}`],
  [/^Passages of (.+)$/, (names) => `${names} 里的重复段落`],
  [/^(.+) against (.+), (\d+ \w+ \d+, \d+:\d+) UTC\. Coloured is what stands in other documents\.$/,
    (names, index, time) => `${names} 对照 ${index}，${dated(time)}（UTC）。着色的是也出现在别的文档里的段落。`],
  [/^([\d,]+) more were refused$/, (n) => `另有 ${n} 条被拒绝`],
  [/^([\d.]+%) of the texts$/, (share) => `占正文的 ${share}`],
  [/^([\d,]+) of ([\d,]+) characters$/, (part, whole) => `${whole} 个字符中的 ${part} 个`],
  [/^([\d.]+%) in passages$/, (share) => `段落占 ${share}`],
  [/^([\d,]+) characters left out$/, (n) => `略去 ${n} 个字符`],
  [/^and ([\d,]+) more passages$/, (n) => `另有 ${n} 段`],
  [/^Of ([\d,]+) texts? a limit kept something from being read: there may be more\.$/,
    (n) => `${n} 篇正文受上限所限，没有全部读到，可能还有。`],
  [/^In this page are ([\d,]+) of ([\d,]+): those with the most characters in passages\.$/,
    (n, all) => `本页列出 ${all} 篇中段落字数最多的 ${n} 篇。`],
  [/^(1,000 or more): ([\d,]+)$/, (label, n) => `${PHRASES[label]}：${n}`],
  [/^([\d,]+(?:[–-][\d,]+)*): ([\d,]+)$/, (label, n) => `${label}：${n}`],
  [/^Here are the ([\d,]+) largest of ([\d,]+)\. The largest cluster counts the documents of the source only\.$/,
    (n, all) => `这里列出 ${all} 个来源中最大的 ${n} 个。最大重复组只计该来源的文档。`],
  [/^Near-duplicates of (.+)$/, (names) => `${names} 的近重复文档`],
  [/^(.+) against (.+), (\d+ \w+ \d+, \d+:\d+) UTC\. Duplicates are (?:at most (\d+) bits apart(?:, and )?)?(?:of an estimated similarity of ([\d.]+) or more)?(?:documents of which one holds ([\d.]+) or more of the rare passages of the other)? \(rule (\w+), analyzer (\w+), scheme (\w+)(?:, agree (.+))?\); of near copies (.+) is kept\.$/,
    (names, index, time, bits, least, share, rule, analyzer, scheme, agree, kept) =>
      `${names} 对照${index === "a temporary index" ? "临时索引" : ` ${index}`}，${dated(time)}（UTC）。判为重复的条件：${[bits && `汉明距离不超过 ${bits}`,
        least && `估计的相似度不低于 ${least}`, share && `一篇含有另一篇罕见段落的 ${share} 或更多`].filter(Boolean).join("，")}（规则 ${rule}，分析器 ${analyzer}，方案 ${scheme}${agree ? `，字段 ${agree} 须一致` : ""}）；`
      + `近重复的几篇里留下${chosen(kept)}。`],
  [/^Made by simhash-hbase (\S+)\. Nothing was loaded from elsewhere.*$/,
    (version) => `由 simhash-hbase ${version} 生成。本页没有从别处加载任何内容，可以原样保存和转发。`],
  [/^([\d,]+) only in a, ([\d,]+) only in b$/, (a, b) => `a 独有 ${a} 个，b 独有 ${b} 个`],
  [/^([\d,]+) (equal )?characters of a and ([\d,]+) of b left out$/,
    (left, equal, right) => `略去${equal ? "相同的部分：" : " "}a 的 ${left} 字、b 的 ${right} 字`],
  [/^and ([\d,]+) more$/, (n) => `另有 ${n} 项`],
  [/^about ([\d,]+)$/, (n) => `约 ${n}`],
  [/^([\d,]+) bytes on disk$/, (n) => `占磁盘 ${n} 字节`],
  [/^(.+): format (\w+), analyzer (\w+), scheme (\w+), (similarity from|share of rare passages from|distance up to) ([\d.]+); (every row was counted|estimated from a sample of the rows)\.$/,
    (index, format, analyzer, scheme, limit, value, counted) =>
      `${index}：格式 ${format}，分析器 ${analyzer}，方案 ${scheme}，${LIMITS[limit]} ${value}；${COUNTED[counted]}。`],
  [/^Seen: ([\d,]+) near-duplicates?\.$/, (n) => `见过：${n} 篇近重复的文档。`],
  [/^Found: ([\d,]+) documents?\.$/, (n) => `找到：${n} 篇文档。`],
  [/^share ([\d.]+%)( or more)?$/, (share, more) => `占线索的 ${share}${more ? " 或更多" : ""}`],
  [/^(\d+) letters, numbers and marks at least; from (\d+) on, every document that holds all of them is found\.$/,
    (least, n) => `不少于 ${least} 个字（不计标点和空格）；不少于 ${n} 个字的，含有整条线索的文档全都找得到。`],
  [/^([\d,]+) passages? in other documents: ([\d.]+%) of the text\.$/, (n, share) => `${n} 段出现在别的文档中，占正文的 ${share}。`],
  [/^Show ([\d,]+) characters$/, (n) => `展开略去的 ${n} 个字符`],
  [/^Compare with (.+)$/s, (id) => `与 ${id} 对照`],
  [/^Look up (.+)$/s, (id) => `查 ${id}`],
  [/^Text of (.+)$/s, (id) => `${id} 的正文`],
  [/^metadata (.+)$/s, (name) => `元数据 ${name}`],
  [/^Distance ([\d,]+) bits?, similarity (.+)\.$/, (n, value) => `汉明距离 ${n} 位，相似度 ${similar(value)}。`],
  [/^((?:A|Whether a) query for one .*?\.) Their words differ in ([\d,]+) places?\.$/, (reach, n) => `${MORE[reach]}两篇有 ${n} 处不同。`],
  [/^The fingerprints differ in ([\d,]+) bits?, in (\d+) of (\d+) blocks\.$/,
    (n, differing, all) => `两个指纹有 ${n} 位不同，落在 ${all} 块中的 ${differing} 块里。`],
  [/^An index of ([\d,]+) documents?: analyzer (\w+), scheme (\w+), (similarity from|share of rare passages from|distance up to) ([\d.]+)\.$/,
    (n, analyzer, scheme, limit, value) =>
      `索引里有 ${n} 篇文档：分析器 ${analyzer}，方案 ${scheme}，${LIMITS[limit]} ${value}。`],
  [/^([\d.]+) ?% of all that came$/, (share) => `占全部提交的 ${share} %`],
  [/^([\d.]+ [KMGT]?B) on disk$/, (size) => `占磁盘 ${size}`],
  [/^the largest has ([\d.]+) × the mean$/, (times) => `最大的是平均的 ${times} 倍`],
  [/^by the time they were added \(UTC\), (.+)$/, (unit) => `按加入的时间（UTC），${BARS[unit] ?? unit}`],
  [/^(\d[\d,]*\S*) rows?$/, (label) => `${label} 行`],
];

const MONTHS = "January February March April May June July August September October November December".split(" ");
const dated = (text) => text.replace(/^(\d+) (\w+) (\d+), (.+)$/, (_, day, month, year, clock) =>
  `${year} 年 ${MONTHS.indexOf(month) + 1} 月 ${day} 日 ${clock}`);
const saved = (advice) => advice.replace(/^(.+) keeps them whole\.$/, "$1 把它们原样存下。");

// Translate a sentence of the page, or several in a row; null where it is none.
export function translated(text) {
  const wanted = text.trim().replace(/\s+/g, " ");
  if (Object.hasOwn(PHRASES, wanted)) return PHRASES[wanted];
  for (const [sentence, written] of SENTENCES) {
    const found = sentence.exec(wanted);
    if (found) return written(...found.slice(1));
  }
  const parts = wanted.split(/(?<=\.) /);
  return wanted && parts.every((part) => Object.hasOwn(MORE, part)) ? parts.map((part) => MORE[part]).join("") : null;
}

const OTHERS = "bdi, textarea, code, time, .row, .id, .title, .data dd, :is(#refused-records, #pulls, #hottest, #regions) td";
const NAMES = ["aria-label", "placeholder"];

function write(node) {
  if (node.parentElement?.closest(OTHERS)) return;
  const text = translated(node.data);
  // Chinese has no blanks between words, but marked words keep theirs.
  if (text !== null) node.data = text;
}

function writeAll(root) {
  if (root.nodeType === Node.TEXT_NODE) return write(root);
  if (root.nodeType !== Node.ELEMENT_NODE) return undefined;
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) write(texts.currentNode);
  for (const node of [root, ...root.querySelectorAll("[aria-label], [placeholder]")]) {
    for (const name of NAMES) {
      const text = node.hasAttribute(name) ? translated(node.getAttribute(name)) : null;
      if (text !== null) node.setAttribute(name, text);
    }
  }
  return undefined;
}

// Before what is drawn is shown, the browser calls the observer.
if (/^zh\b/i.test(navigator.language)) {
  document.documentElement.lang = "zh-Hans";
  document.title = translated(document.title) ?? document.title;
  writeAll(document.body);
  new MutationObserver((changes) => changes.forEach(({ type, target, addedNodes }) => {
    if (type === "childList") addedNodes.forEach(writeAll);
    else write(target);
  })).observe(document.body, { childList: true, characterData: true, subtree: true });
}
