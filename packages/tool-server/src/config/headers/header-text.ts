/** Text as a header can hold it: as it stands where that is safe, else in base64 with a mark around it. */
export function encodeHeaderText(text: string): string {
  const isSafe = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/s.test(text);
  return isSafe ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

/** What a header says, where it may be wrapped because a header cannot hold it; undefined where the wrapping is broken. */
export function decodeHeaderText(text: string): string | undefined {
  const wrapped = /^=\?base64\?(.*)\?=$/s.exec(text)?.[1];
  if (wrapped === undefined) return text;
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(wrapped)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(wrapped, "base64"));
  } catch {
    return undefined;
  }
}
