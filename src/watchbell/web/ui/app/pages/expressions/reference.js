/** How expressions are written, in short: each example can be tried on a live server. */

/** @typedef {{title: string, words: string[], examples: [text: string, meaning: string][], isMessage?: boolean}} Part `words`: with code in backticks */

/** @type {Part[]} */
export const REFERENCE = [
  {
    title: "Paths",
    words: ["A path leads to a value. What is missing is `null`, at any depth, and no error. Names with a hyphen or a space are written in brackets."],
    examples: [
      ["cpu.cores", "a value"],
      ["load[0]", "an item of an array; the first has the number 0"],
      ["mounts['root'].use", "the same as `mounts.root.use`"],
      ["processes.list.command", "a name after an array is read from its first item"],
      ["[cpu/currentLoad]", "the same as `cpu.currentLoad`, as older definitions have it"],
    ],
  },
  {
    title: "Filters",
    words: ["In brackets, names with a leading dot belong to the items of an array: only items for which the expression is true are in the result. `.` alone is the item."],
    examples: [
      ["count(processes.list[.cpu > 5])", "how many processes use more than 5 %"],
      ["sort(processes.list, '-memRss')[0].command", "the process with the most memory"],
      ["values(interfaces)[.operstate == 'up'].rx_bytes", "of the first interface that is up"],
      ["values(mounts)[.use > 80]", "file systems that are more than 80 % full"],
    ],
  },
  {
    title: "Operators",
    words: ["From the strongest to the weakest: `!` `-`, then `^` `%`, then `*` `/` `//`, then `+` `-`, then comparisons and `in`, then `&&`, then `||`, then `c ? a : b` and `a ?: b`."],
    examples: [
      ["memory.available / memory.total * 100", "`//` divides and rounds down"],
      ["'load ' + load[0] + ' on ' + hostname", "with a text on either side, `+` joins texts"],
      ["cpu.currentLoad >= 50 && mounts.root.use > 90", "both"],
      ["cpu.gpu ?: 'none'", "the first, if it is true; else the second"],
      ["load[0] > cpu.cores ? 'busy' : 'calm'", "one of two"],
      ["'root' in mounts", "an item of an array, a part of a text, or a key of an object"],
    ],
  },
  {
    title: "Missing values, texts and numbers",
    words: [
      "Null in arithmetic gives null, and every comparison with null by `<`, `<=`, `>` or `>=` is false: no alert fires because a value is missing. Division by zero is null.",
      "A text with a number in it counts as that number. In arithmetic, any other text is an error. False are `false`, `null`, `0` and whatever is empty; all else is true.",
    ],
    examples: [
      ["gpu.load > 5", "false: there is no such value"],
      ["(gpu.load || 0) + 1", "with a value in its place"],
      ["'12' * 2", "a text with a number"],
    ],
  },
  {
    title: "Functions",
    words: [
      "Of numbers: `min`, `max`, `sum`, `avg`, `floor`, `ceil`, `round`, `abs`, `clamp`, `integer`, `float`.",
      "Of arrays, objects and texts: `count`, `length`, `find`, `includes`, `keys`, `values`, `sort`, `unique`, `join`, `split`, `lower`, `upper`, `trim`, `match`.",
      "For messages: `bytes`, `number`, `pct`, `encode`, `stringify`, `server`, `event`.",
    ],
    examples: [
      ["max(load)", "of values, or of an array"],
      ["find(processes.list, 'command', 'ssh').pid", "items with a text in the value of a key"],
      ["match(hostname, '(\\w+)-(\\d+)')", "the text that matches a regular expression (RE2), then its groups; null if none does"],
      ["integer('1056 files')", "the number at the beginning"],
      ["round(load[0] / cpu.cores, 2)", "with so many digits"],
      ["clamp(cpu.currentLoad, 0, 50)", "at least 0 and at most 50"],
      ["join(unique(processes.list[.cpu > 1].user), ', ')", "a text of an array"],
      ["bytes(memory.used)", "in powers of 1,024"],
      ["pct(memory.used, memory.total)", "a part of a whole"],
    ],
  },
  {
    title: "Messages",
    words: ["In messages, `{{` and `}}` surround an expression. Null is empty, arrays and objects are JSON. An expression that fails leaves its reason in the message."],
    examples: [
      ["Load is {{float(load[0])}} ({{cpu.cores}} CPU cores)", "numbers in a text"],
      ["{{bytes(memory.available)}} of {{bytes(memory.total)}} are available on {{hostname}}.", "sizes in words"],
    ],
    isMessage: true,
  },
  {
    title: "Limits",
    words: ["An expression has at most 10,000 characters and 80 levels of brackets. It ends with an error after 100,000 steps, which takes less than 50 ms. It sees nothing but the values that it is given, and can't change anything."],
    examples: [],
  },
];
