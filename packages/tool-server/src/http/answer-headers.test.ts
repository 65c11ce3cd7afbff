import { expect, test } from "vitest";
import { parseAnswerHeaders, readAnswerHeader } from "./answer-headers.js";

const raw = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text, "latin1"));

test.each([
  [raw("Content-Type", "text/plain", "Date", "now")],
  [raw("date", "now", "CONTENT-TYPE", "a/b", "content-type", "c/d")],
  [raw("Date", "now")],
  [raw()],
])("one header that is looked for is as it is among all (%#)", (headers) => {
  expect(readAnswerHeader(headers, "content-type")).toBe(parseAnswerHeaders(headers)["content-type"] ?? "");
});
