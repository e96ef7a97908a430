// What the page says, in the language of the browser: English or Chinese.

const isChinese = navigator.language.toLowerCase().startsWith("zh");

/** The language of the page, as a tag. */
export const LANG = isChinese ? "zh-Hans" : "en";

const LOCALE = isChinese ? "zh-CN" : "en-GB";

export const number = (n) => n.toLocaleString(isChinese ? "zh-CN" : "en");

/** Returns a share in percent, rounded down: only equal texts have 100 %. */
export function share(part, digits = 0) {
  if (part === 1) return "100 %";
  const scale = 10 ** digits;
  return `${(Math.floor(part * 100 * scale + 1e-6) / scale).toFixed(digits)} %`;
}

export const percent = (part) => `${(100 * part).toFixed(1)} %`;

export function bytes(n) {
  if (n < 1024) return t("bytes", n);
  const units = ["KiB", "MiB", "GiB", "TiB"];
  const unit = Math.min(Math.floor(Math.log2(n) / 10), units.length);
  const value = n / 1024 ** unit;
  return `${Number.isInteger(value) ? number(value) : value.toFixed(1)} ${units[unit - 1]}`;
}

/** Returns a moment in the reader's time zone; what is no moment comes back as it is. */
export function moment(rfc3339) {
  const date = new Date(rfc3339);
  return Number.isNaN(date.getTime()) ? rfc3339 : date.toLocaleString(LOCALE, { dateStyle: "medium", timeStyle: "short" });
}

export const timeOfDay = () => new Date().toLocaleTimeString(LOCALE);

const some = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Each text: in English, in Chinese. */
const WORDS = {
  // The frame
  whatToDo: ["What to do", "要做什么"],
  find: ["Find", "查找"],
  compare: ["Compare", "比较"],
  index: ["Index", "索引"],
  forgetKey: ["Forget the key", "忘掉密钥"],
  keyForgotten: ["The key is forgotten.", "密钥已忘掉。"],
  asksForKey: ["This worker asks for a key", "此服务需要密钥"],
  keyScope: ["The key needs the scope “read”. It stays in this tab until the tab is closed.", "密钥需要权限 read。它只保存在本标签页，关闭即忘。"],
  key: ["Key", "密钥"],
  useKey: ["Use it", "使用"],
  notNow: ["Not now", "暂不"],
  keyAscii: ["A key has only ASCII letters, digits and signs. Were quotes or spaces pasted with it?", "密钥只含 ASCII 字母、数字和符号。是否连引号或空格一起粘贴了？"],
  tryAgain: ["Try again", "再试一次"],
  request: ["Request", "请求"],
  characters: [(n) => some(n, "character"), (n) => `${number(n)} 个字符`],
  bytes: [(n) => some(n, "byte"), (n) => `${number(n)} 字节`],
  bits: [(n) => some(n, "bit"), (n) => `${number(n)} 位`],
  documents: [(n) => some(n, "document"), (n) => `${number(n)} 个文档`],

  stop: [". ", "。"],
  colon: [": ", "："],

  // Troubles
  notTheWorker: ["The answer is not the worker's", "回答不是此服务给出的"],
  notTheWorkerDetail: [(status) => `Something between this page and the worker answered with status ${status}.`, (status) => `在本页与服务之间，有别的程序以状态 ${status} 作答。`],
  gone: ["The worker does not answer", "服务没有回答"],
  goneDetail: [(origin) => `Nothing came from ${origin}. Is the worker running, and can this machine reach it?`, (origin) => `${origin} 没有回应。服务在运行吗？本机能访问它吗？`],
  tooLong: ["The text is too long", "文本太长"],
  textTooLong: [(size, most) => `It has ${size}, and this worker takes texts of ${most} at most (--text-bytes-max).`, (size, most) => `它有 ${size}，而此服务最多接受 ${most} 的文本（--text-bytes-max）。`],
  bodyTooLong: [(size, most) => `With ${size} of text this request has more than the ${most} that this worker takes (--body-bytes-max).`, (size, most) => `文本共 ${size}，请求超过了此服务接受的 ${most}（--body-bytes-max）。`],
  fileTooLong: [(name, size, most) => `${name} has ${size}, and this worker takes texts of ${most} at most (--text-bytes-max).`, (name, size, most) => `${name} 有 ${size}，而此服务最多接受 ${most} 的文本（--text-bytes-max）。`],
  noText: ["This is no text", "这不是文本"],
  fileNoText: [(name) => `${name} is not in UTF-8. Take the text out of it, and paste that.`, (name) => `${name} 不是 UTF-8 文本。请取出其中的文字再粘贴。`],

  // Find
  whichAreLike: ["Which documents are like this text?", "哪些文档与这段文本相似？"],
  dropHere: ["Paste a text, or drop a file here.", "在此粘贴文本，或拖入一个文件。"],
  chooseFile: ["Choose a file", "选择文件"],
  orId: ["Or a document by its id", "或按编号找文档"],
  lookUp: ["Look up", "查看"],
  atLeast: ["At least", "至少"],
  inCommonBound: ["in common", "相同"],
  atMost: ["At most", "至多"],
  bitsApart: ["bits apart", "位不同"],
  searching: ["Searching", "正在查找"],
  orMore: [(part) => (part === 1 ? "100 %" : `${Number((100 * part).toFixed(2))} % or more`), (part) => (part === 1 ? "100 %" : `${Number((100 * part).toFixed(2))} % 以上`)],
  withInCommon: [(bound) => `with ${bound} in common`, (bound) => `相同部分达 ${bound}`],
  sameFingerprint: ["with the same fingerprint", "指纹相同"],
  withinBits: [(n) => `within ${some(n, "bit")}`, (n) => `相差 ${n} 位以内`],
  noneSuch: [(within) => `No document ${within}`, (within) => `没有${within}的文档`],
  foundSuch: [(n, within) => `${some(n, "document")} ${within}`, (n, within) => `${number(n)} 个文档${within}`],
  nearestListed: [(n) => `The nearest ${number(n)} are listed.`, (n) => `只列出最近的 ${number(n)} 个。`],
  nearestWith: [(title, nearness) => `${title}, the nearest with ${nearness}.`, (title, nearness) => `${title}，最近者${nearness}。`],
  showMore: [(n, left) => `Show ${number(n)} more of ${number(left)}`, (n, left) => `再显示 ${number(n)} 个（余 ${number(left)} 个）`],
  estimates: ["“about”: an estimate. In a document that is opened it is counted, where its text is at hand.", "“约”为估计值。打开文档后，若有原文则逐一计数。"],
  inCommon: [(nearness) => `${nearness} in common`, (nearness) => `${nearness} 相同`],
  about: [(nearness) => `about ${nearness}`, (nearness) => `约 ${nearness}`],
  wasRead: [(buckets, n) => `${some(buckets, "bucket")} of the index were read, with ${some(n, "entry", "entries")} to compare.`, (buckets, n) => `为此读了索引的 ${number(buckets)} 个桶，其中有 ${number(n)} 个条目可供比较。`],
  noneMet: [(buckets) => `${some(buckets, "bucket")} of the index were read, and no document shares one with this text.`, (buckets) => `为此读了索引的 ${number(buckets)} 个桶，没有文档与这段文本同在一个桶中。`],
  noneCompared: ["None of them is like this text.", "其中没有与此相似的。"],
  shortTexts: ["A short text has near-duplicates only among those of nearly the same words.", "短文本只有用词几乎相同者才算近似。"],
  nearestBelow: ["The nearest below that", "低于此限的最近者"],
  fingerprintIs: ["Its fingerprint is ", "其指纹为 "],
  noAddress: ["The text is too long for an address, so this page has none that could be sent.", "文本过长，不能写进网址，因此本页没有可以发送的地址。"],
  emptyIndex: ["The index is empty", "索引是空的"],
  fillIt: ["Nothing has been put into it: post documents to /v1/documents, or run the indexer on it.", "其中还没有文档：请向 /v1/documents 提交文档，或运行 indexer。"],
  keyboard: ["/ to the text · j k through the documents · n p through the differences · Esc closes", "/ 到文本框 · j k 逐个文档 · n p 逐处差异 · Esc 关闭"],

  // The beginning
  whatIsHere: ["In the index", "索引中有"],
  holds: [(n) => `${some(n, "document")}.`, (n) => `${number(n)} 个文档。`],
  holdsSome: ["Documents, which this store does not count.", "若干文档（此存储不计数）。"],
  lastWritten: [(at) => `The last was written on ${at}.`, (at) => `最近写入：${at}。`],
  theSources: [(names, more) => `Sources: ${names}${more ? ` and ${number(more)} more` : ""}.`, (names, more) => `来源：${names}${more ? `等，另有 ${number(more)} 个` : ""}。`],
  tryOne: ["Try one of these", "试试这些"],
  nearOnes: [(n) => (n === 0 ? "nothing near" : `${number(n)} near`), (n) => (n === 0 ? "无近似者" : `${number(n)} 个近似`)],

  // Lists of documents
  filter: ["Filter by source or time", "按来源或时间筛选"],
  all: ["all", "全部"],
  from: ["From", "从"],
  to: ["To", "到"],
  ofListed: [(n, all) => `${n} of ${all} listed`, (n, all) => `所列 ${all} 个中的 ${n} 个`],
  filterNote: ["This chooses among what is listed here: the search itself takes no source and no time.", "只在此处所列者中挑选：查找本身不按来源或时间。"],
  latestDocuments: [(n) => `The latest ${some(n, "document")}`, (n) => `最近的 ${number(n)} 个文档`],
  someDocuments: [(n) => `${some(n, "document")} of the index`, (n) => `索引中的 ${number(n)} 个文档`],

  // A cluster
  cluster: ["Its cluster", "所在的簇"],
  clusterWith: [(n) => `cluster: ${number(n)} near`, (n) => `簇：${number(n)} 个近似`],
  clusterOf: [(n) => `A cluster of ${some(n, "document")}`, (n) => `${number(n)} 个文档的簇`],
  clusterIs: ["Those near this one, those near them, and so on: each with its share of the one it was reached from.", "与此近似者，再与它们近似者，依此类推；比例均相对于到达它的上一个文档。"],
  clusterCut: ["The walk ends at 50 others or eleven requests: there may be more.", "至多走到 50 个其他文档或十一次请求：可能还有更多。"],
  via: [(steps) => `${steps} steps away, by `, (steps) => `第 ${steps} 步，经由 `],
  theOneBefore: ["the one before it", "上一个文档"],

  // A document
  inIndexSince: ["In the index since", "写入时间"],
  source: ["Source", "来源"],
  itsText: ["Its text", "原文"],
  textIsThere: ["The index keeps no text of it; it is at ", "索引不存其原文；原文在 "],
  textIsNowhere: ["Its text is neither in the index nor in this worker.", "索引和此服务中都没有其原文。"],
  nearThis: [(n) => `${some(n, "document")} near this one`, (n) => `${number(n)} 个文档与此近似`],
  noneNearThis: ["No document is near this one", "没有与此近似的文档"],
  walk: ["Documents near this one", "与此近似的文档"],
  open: ["Open it", "打开"],
  remove: ["Remove …", "删除……"],
  removeSure: [(id) => `Remove ${id} from the index, for everybody? This cannot be undone.`, (id) => `要从索引中为所有人删除 ${id} 吗？此操作无法撤销。`],
  removeYes: ["Remove it", "删除"],
  removeNo: ["Keep it", "保留"],
  removed: ["It is removed.", "已删除。"],

  // Similarity
  common: ["In common", "相同部分"],
  ofEither: [" of what either has. ", "（占两者全部内容）。"],
  contained: [(a, b, nameA, nameB) => `${a} of ${nameA} is in ${nameB}, and ${b} of ${nameB} in ${nameA}.`, (a, b, nameA, nameB) => `${nameA}的 ${a} 见于${nameB}，${nameB}的 ${b} 见于${nameA}。`],
  counted: ["Counted in the texts", "按原文计数"],
  estimated: ["By the signatures, which estimate it for texts of more than 50 characters", "按签名计算（50 字以上的文本为估计值）"],
  runs: ["runs of five characters, in Chinese of four, in short texts of two, without case, width, punctuation or repetitions.", "每五个字符（中文四个，短文本两个）为一段，不计大小写、全半角、标点与重复。"],
  numbersDiffer: ["The numbers in them differ", "其中的数字不同"],
  nothing: ["none", "无"],
  more: [(n) => `and ${number(n)} more`, (n) => `另有 ${number(n)} 处`],
  yours: ["your text", "你的文本"],
  theDocument: ["the document", "该文档"],
  thePasted: ["the pasted text", "粘贴的文本"],
  thisDocument: ["this document", "此文档"],
  theOtherDocument: ["the other", "另一文档"],
  oneText: ["the one text", "前一文本"],
  otherText: ["the other", "后一文本"],

  // Differences
  differences: ["Differences", "差异"],
  same: ["Letter for letter the same.", "逐字相同。"],
  differs: [(n, a, b, nameA, nameB) => `${some(n, "place differs", "places differ")}: ${some(a, "character")} only in ${nameA}, ${some(b, "character")} only in ${nameB}.`, (n, a, b, nameA, nameB) => `${number(n)} 处不同：${number(a)} 个字符仅见于${nameA}，${number(b)} 个仅见于${nameB}。`],
  onlyIn: [(name) => `only in ${name}`, (name) => `仅见于${name}`],
  marks: [" What is compared has no case, width or punctuation; the marks do.", " 比较时不计大小写、全半角与标点；标记则计。"],
  alike: [(n) => `… ${some(n, "character")} alike …`, (n) => `……${number(n)} 个字符相同……`],
  folded: [(n) => `… ${some(n, "character")} more …`, (n) => `……另有 ${number(n)} 个字符……`],
  cut: [(n) => `… ${some(n, "character")} cut …`, (n) => `……删去 ${number(n)} 个字符……`],
  added: [(n) => `… ${some(n, "character")} added …`, (n) => `……增加 ${number(n)} 个字符……`],
  moreStretches: [(n) => `Show more of the texts (${number(n)} stretches are left)`, (n) => `显示更多（余 ${number(n)} 段）`],
  previous: ["Previous", "上一处"],
  next: ["Next", "下一处"],
  place: [(n, of) => `${number(n)} of ${number(of)}`, (n, of) => `第 ${number(n)} 处，共 ${number(of)} 处`],
  textOf: [(id) => `The text of ${id}`, (id) => `${id} 的原文`],
  pasteIt: ["This worker does not have its text. Paste it to see the differences.", "此服务没有其原文。粘贴原文即可查看差异。"],
  showThem: ["Show the differences", "显示差异"],
  notQuite: ["This is not quite the text that was indexed: its fingerprint is ", "这与入库时的原文不尽相同：其指纹为 "],
  documentsIs: [", and the document's is ", "，而文档的指纹为 "],

  // Why
  why: ["Why", "为什么"],
  foundBy: ["Found by", "凭什么找到"],
  metIn: [(ways) => `A search for the one meets the other in ${ways.join(", and in ")}.`, (ways) => `查找其一，会在${ways.join("以及")}中遇到另一个。`],
  metNowhere: ["A search for the one does not meet the other: they share no table and no band.", "查找其一遇不到另一个：两者没有共同的表或带。"],
  tables: [(shared, of) => `${shared.length} of ${some(of, "table")} of simhashes (${shared.join(", ")})`, (shared, of) => `simhash 的 ${of} 个表中的 ${shared.length} 个（${shared.join("、")}）`],
  bands: [(shared, of) => `${shared.length} of ${some(of, "band")} of character runs (${shared.join(", ")})`, (shared, of) => `字符段的 ${of} 个带中的 ${shared.length} 个（${shared.join("、")}）`],
  foundByBriefly: [(ways) => `found by ${ways.join(", ")}`, (ways) => `凭${ways.join("、")}找到`],
  briefTables: [(n, of) => `${n} of ${some(of, "table")}`, (n, of) => `${of} 个表中的 ${n} 个`],
  briefBands: [(n, of) => `${n} of ${some(of, "band")}`, (n, of) => `${of} 个带中的 ${n} 个`],
  briefNone: ["not found by a search", "查找遇不到"],
  whole: ["the hash of the whole text", "全文的散列"],
  tooFew: [(bound) => `They have less in common than ${bound}, which this index asks for.`, (bound) => `相同部分不到此索引要求的 ${bound}。`],
  otherNumbers: ["Their numbers differ, and this index takes documents with other numbers for others.", "其中数字不同，而此索引把数字不同者视为不同文档。"],
  bitsHead: ["Bits", "位"],
  allAgree: ["All 64 bits agree", "64 位全部一致"],
  bitsDiffer: [(n) => `${n} of 64 bits ${n === 1 ? "differs" : "differ"}`, (n) => `64 位中有 ${n} 位不同`],
  tablesAgree: [(n, of, scheme) => `They agree in ${n} of the ${some(of, "table")} of ${scheme}.`, (n, of, scheme) => `在 ${scheme} 的 ${of} 个表中有 ${n} 个一致。`],
  aboveBelow: [(name) => `, ${name}`, (name) => `（${name}）`],
  above: ["Above ", "上："],
  below: ["; below ", "；下："],
  bit: ["Bit", "位"],
  block: [(n) => ` block ${n}`, (n) => ` 第 ${n} 段`],
  termsFor: ["Terms for it", "赞成的词"],
  termsAgainst: ["Terms against it", "反对的词"],
  turnTo: [(name) => `Terms that turn it to ${name}`, (name) => `使它偏向${name}的词`],
  holdAt: [(name) => `Terms that hold it at ${name}`, (name) => `使它保持${name}的词`],
  decidedBy: [(value, margin) => `${value} by ${margin}`, (value, margin) => `${value}（优势 ${margin}）`],
  moreTerms: [(n) => `and ${number(n)} more`, (n) => `另有 ${number(n)} 个`],
  otherBits: [(n) => `Show the other ${some(n, "bit")}`, (n) => `显示其余 ${n} 位`],
  onlyTermsOf: [(name) => `Of the terms, only those of ${name} are known. `, (name) => `只知道${name}的词。`],
  margin: ["A margin is the part of all weight by which a side decided the bit: one of a few percent is turned by a word or two.", "优势是决定该位的权重差占全部权重的比例：只有百分之几的，一两个词就能改变。"],
  heaviest: ["Heaviest terms", "权重最大的词"],
  weights: ["With their weights, of which the greatest is 100.", "附权重，最大者为 100。"],
  weightsOfBoth: [(a, b) => ` Where it differs, that in ${a} → that in ${b}; – where a term is not among those that decide.`, (a, b) => `不同者写作 ${a} → ${b}；– 表示该词不参与决定。`],

  // Compare
  oneTextLabel: ["One text", "前一文本"],
  otherTextLabel: ["The other text", "后一文本"],
  comparing: ["Comparing", "正在比较"],
  verdict: [(nearness, isNear) => `${nearness}: ${isNear ? "near-duplicates" : "not near-duplicates"}`, (nearness, isNear) => `${nearness}：${isNear ? "近似重复" : "不算近似重复"}`],
  ruleBits: [(differ, most) => `${differ}; this index takes texts for near-duplicates up to ${some(most, "bit")}.`, (differ, most) => `${differ}；此索引把相差 ${most} 位以内的文本视为近似重复。`],
  rule: [(bound) => `This index takes texts with ${bound} in common for near-duplicates.`, (bound) => `此索引把相同部分达 ${bound} 的文本视为近似重复。`],
  ruleEstimates: ["It estimates, and takes these for such.", "它按估计判断，并把这两者视为近似重复。"],
  ruleLooks: [(most, differ) => `It would not find these: it looks where up to ${some(most, "bit")} of 64 differ, and here ${differ} do.`, (most, differ) => `它找不到这一对：它只查 64 位中至多 ${most} 位不同者，而这里有 ${differ} 位不同。`],
  ruleMisses: ["It would miss these.", "它会漏掉这一对。"],

  // Index
  askAgain: ["Ask again", "刷新"],
  asOf: [(time) => `as of ${time}`, (time) => `截至 ${time}`],
  figuresThere: ["The figures are there.", "数据已更新。"],
  documentsHead: ["Documents", "文档"],
  notCounted: ["not counted by this store", "此存储不计数"],
  lastWrittenHead: ["Last written", "最近写入"],
  sourcesHead: ["Sources", "来源"],
  sourcesOf: [(n) => `of the ${number(n)} documents looked at`, (n) => `据所查的 ${number(n)} 个文档`],
  noSources: ["none named", "未注明"],
  textsHead: ["Texts", "原文"],
  textsKept: ["kept: shares are counted in them, and differences are shown", "已保存：可计数相同部分，并显示差异"],
  textsNotKept: ["not kept: shares are estimates", "未保存：相同部分为估计值"],
  textsAt: ["not kept here; documents are at ", "此处未保存；文档在 "],
  nearDuplicates: ["Near-duplicates", "近似重复"],
  upToBits: [(n) => `up to ${some(n, "bit")} of 64 apart`, (n) => `64 位中相差 ${n} 位以内`],
  numbersHead: ["Numbers", "数字"],
  sameNumbers: ["documents with other numbers are others", "数字不同即为不同文档"],
  anyNumbers: ["do not decide", "不参与判断"],
  foundByHead: ["Found by", "查找依据"],
  ways: [(profile) => ({ classic: "the bits of simhashes", minhash: "runs of characters", full: "the bits of simhashes, and runs of characters" })[profile], (profile) => ({ classic: "simhash 的各位", minhash: "字符段", full: "simhash 的各位与字符段" })[profile]],
  stay: ["Documents stay", "文档保留"],
  untilRemoved: ["until they are removed", "直到被删除"],
  stayFor: [(n, unit) => `for ${some(n, unit)}`, (n, unit) => `${n} ${{ week: "周", day: "天", hour: "小时", minute: "分钟", second: "秒" }[unit]}`],
  storeHead: ["Store", "存储"],
  yourKey: ["You may", "你可以"],
  scopes: [(names) => names.map((name) => ({ read: "ask", write: "insert", admin: "remove" })[name]).join(", "), (names) => names.map((name) => ({ read: "查询", write: "写入", admin: "删除" })[name]).join("、")],
  thisWorker: ["This worker", "此服务"],
  recentTexts: ["Texts in memory", "内存中的原文"],
  recentNone: ["none (--recent-texts-bytes-max 0)", "无（--recent-texts-bytes-max 0）"],
  recentSome: [(n, most) => `${number(n)}, in at most ${most} of memory`, (n, most) => `${number(n)} 篇，至多占用 ${most} 内存`],
  longestText: ["Longest text", "最长文本"],
  largestRequest: ["Largest request", "最大请求"],
  longestBatch: ["Longest batch", "最大批量"],
  lines: [(n) => some(n, "line"), (n) => `${number(n)} 行`],
  howItWorks: ["How it compares", "如何比较"],
  recipe: ["Recipe", "配方"],
  scheme: ["Scheme", "方案"],
  schemeIs: [(n) => `: ${some(n, "table")}. Two fingerprints meet where all the bits that a table has marked agree.`, (n) => `：${n} 个表。某个表所标的各位全部一致时，两个指纹相遇。`],
  table: [(n, bits, blocks) => `Table ${n}: the ${some(bits, "bit")} of the blocks ${blocks.join(", ")} must agree`, (n, bits, blocks) => `表 ${n}：第 ${blocks.join("、")} 段的 ${bits} 位必须一致`],
  format: ["Format", "格式"],
  version: [(n) => `version ${n}`, (n) => `版本 ${n}`],
  identity: ["Identity", "标识"],
};

/** Chinese titles of the worker's problems; its details come in English. */
const PROBLEMS = {
  "no-key": "请求没有密钥", "unknown-key": "密钥无效", "wrong-scope": "密钥没有此权限", "no-such-document": "没有这个文档",
  "no-features": "文本没有可比较的内容", "text-too-long": "文本太长", "too-large": "请求太大", "unknown-host": "不是此服务的名称",
  "too-many-requests": "请求过多", "busy": "服务正忙", "timeout": "请求超时", "store-unavailable": "存储暂不可用", "internal": "服务出错",
  "bad-request": "请求无法理解", "stopping": "服务即将停止",
};

/** Returns a text of the page in its language. */
export function t(key, ...values) {
  const words = WORDS[key][isChinese ? 1 : 0];
  return typeof words === "function" ? words(...values) : words;
}



/** Returns the title of a problem. */
export const problemTitle = (kind, title) => (isChinese && PROBLEMS[kind]) || title;

/** Puts the texts of the page's own markup into its language. */
export function translate(root) {
  document.documentElement.lang = LANG;
  for (const element of root.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of root.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
  for (const element of root.querySelectorAll("[data-placeholder]")) element.placeholder = t(element.dataset.placeholder);
}
