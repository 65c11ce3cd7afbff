import { headerNameDefect } from "../../config/headers.js";
import { type JsonNode, parseJsonWithPositions } from "../../config/json-with-positions.js";
import { ToolServerError } from "../../errors.js";
import { createHeaderFields, type HeaderFields, type HeaderSource } from "./header-fields.js";

const maxHeaders = 64;

/**
 * Parses the output of a helper: one JSON object of header names to strings. Throws HELPER_OUTPUT_INVALID, with the position of
 * the defect and never with its content; `helper` starts the message.
 */
export function parseHelperOutput(output: Uint8Array, helper: string): HeaderFields {
  const invalid = (defect: string, advice: string): ToolServerError =>
    new ToolServerError("HELPER_OUTPUT_INVALID", { problem: `${helper} ${defect}.`, advice });

  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(output);
  } catch {
    throw invalid("wrote output that is not UTF-8", "It must write one JSON object of strings.");
  }
  if (text.trim() === "") throw invalid("wrote nothing to standard output", "It must write one JSON object.");
  const { root, problems } = parseJsonWithPositions(text);
  const [problem] = problems;
  if (problem !== undefined || root === undefined) {
    const place = `line ${problem?.line ?? 1}, column ${problem?.column ?? 1}`;
    const what = problem?.kind === "duplicate-key" ? "has the same key twice" : "is not JSON";
    throw invalid(
      `wrote output that ${what}, at ${place}`,
      "It must write one JSON object and nothing else; messages go to standard error.",
    );
  }
  if (root.kind !== "object") {
    throw invalid(`wrote ${withArticle(root.kind)}, not an object`, 'It must write {"Header-Name": "value"}.');
  }
  if (root.members.length === 0) {
    throw invalid(
      "wrote an empty object",
      'Let it write {"Header-Name": "value"}, or end with another code than 0 if it has no credential.',
    );
  }
  if (root.members.length > maxHeaders) {
    throw invalid(`wrote ${root.members.length} headers`, `The maximum is ${maxHeaders}.`);
  }
  const sources = root.members.map(({ key, keyAt, value }): HeaderSource => {
    // A name is shown only once it is known to be one: a helper may have mixed up names and values.
    const nameDefect = headerNameDefect(key);
    if (nameDefect !== undefined) {
      const place = `line ${keyAt.line}, column ${keyAt.column}`;
      throw invalid(`wrote an invalid header name: at ${place}, it ${nameDefect}`, "Correct the key.");
    }
    if (value.kind === "string") return { name: key, value: value.value };
    const place = `line ${value.line}, column ${value.column}`;
    throw invalid(
      `wrote ${withArticle(value.kind)} instead of a string, at ${place}`,
      `Write the value of ${key} in double quotes.`,
    );
  });
  try {
    return createHeaderFields(sources, helper);
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    throw new ToolServerError("HELPER_OUTPUT_INVALID", error);
  }
}

function withArticle(kind: JsonNode["kind"]): string {
  if (kind === "null") return "null";
  return kind === "array" || kind === "object" ? `an ${kind}` : `a ${kind}`;
}
