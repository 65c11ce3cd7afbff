const words = [
  "<.*>",
  "\\[.*\\]",
  "your[-_ ].*",
  "(?:my|insert|enter|put)[-_ ].*(?:token|key|secret|here).*",
  "(?:change|replace)[-_ ]?(?:me|this).*",
  "x{3,}",
  "\\.{3,}",
  "\\*{3,}",
  "todo|placeholder|dummy|token|api[-_]?key|secret|undefined|null",
];

const placeholder = new RegExp(`^(?:${words.join("|")})$`, "i");

/** Whether a value is one that stands in examples, where somebody's own was to be put. */
export function isPlaceholder(value: string): boolean {
  return placeholder.test(value);
}
