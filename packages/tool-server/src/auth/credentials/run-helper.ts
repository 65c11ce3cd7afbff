import { describeKind } from "../../config/entry-values.js";
import { headerNameDefect } from "../../config/headers.js";
import { type JsonNode, parseJsonWithPositions } from "../../config/json-with-positions.js";
import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { createHeaderFields, type HeaderFields, type HeaderSource, secretsOfHeader } from "./header-fields.js";
import { type ProgramRun, type ProgramTask, runProgram } from "./run-program.js";

export interface HelperTask extends ProgramTask {
  /** The absolute path of the script. */
  readonly path: string;
}

export interface HelperOutput {
  readonly headers: HeaderFields;
  /** When the headers expire, in milliseconds since the epoch; undefined if the helper does not state it. */
  readonly expiresAt: number | undefined;
}

/** The result of a run: headers or an error, and how the process ended. */
export type HelperRun = ProgramRun<HelperOutput>;

/** Runs a helper once. Never rejects; if the signal aborted, the outcome is `aborted`. */
export async function runHelper(task: HelperTask, signal: AbortSignal): Promise<HelperRun> {
  const { server, path, tokens } = task;
  const subject = `The helper of server ${JSON.stringify(server)} (${printableText(path, 500)})`;
  return runProgram(task, signal, {
    command: path,
    args: [],
    subject,
    read: (stdout) => readOutput(stdout, subject, tokens),
    outputAdvice: "It must write one JSON object of headers and nothing else.",
    notFoundAdvice: /\s/.test(path)
      ? "headersHelper is a path without arguments: write a script that passes them, and use its path."
      : "Check the path in headersHelper, and the first line of the script.",
  });
}

/** Parses the output of a helper, and adds its secrets to `tokens`; returns the error if it is invalid. */
function readOutput(stdout: Uint8Array, helper: string, tokens: HelperTask["tokens"]): HelperOutput | ToolServerError {
  try {
    const output = parseHelperOutput(stdout, helper);
    for (const [name, value] of Object.entries(output.headers)) {
      for (const secret of secretsOfHeader(name, value)) tokens.add(secret);
    }
    return output;
  } catch (error) {
    if (ToolServerError.is(error)) return error;
    throw error;
  }
}

const maxHeaders = 64;

/**
 * Parses the output of a helper: one JSON object of header names to strings, or `{"headers": {…}, "expiresAt": …}`. The value of a
 * header is a string, so an object in `headers` cannot be a header. Throws HELPER_OUTPUT_INVALID, with the position of the defect and
 * never with its content; `helper` starts the message.
 */
export function parseHelperOutput(output: Uint8Array, helper: string): HelperOutput {
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
    const advice = "It must write one JSON object and nothing else; messages go to standard error.";
    throw invalid(`wrote output that ${what}, at ${place}`, advice);
  }
  if (root.kind !== "object") {
    throw invalid(`wrote ${describeKind(root)}, not an object`, 'It must write {"Header-Name": "value"}.');
  }
  const envelope = root.members.find(({ key, value }) => key === "headers" && value.kind === "object")?.value;
  const expiry = envelope && root.members.find(({ key }) => key === "expiresAt")?.value;
  const expiresAt = expiry && timeOf(expiry);
  if (expiry !== undefined && expiresAt === undefined) {
    const advice = 'Write a time such as "2026-01-31T12:00:00Z", or seconds since 1970 as a number.';
    throw invalid(`wrote an invalid expiresAt, at line ${expiry.line}, column ${expiry.column}`, advice);
  }
  const members = envelope?.kind === "object" ? envelope.members : root.members;
  if (members.length === 0) {
    const advice = 'It must write {"Header-Name": "value"}, or exit with a nonzero code if it has no credential.';
    throw invalid("wrote an empty object", advice);
  }
  if (members.length > maxHeaders) {
    throw invalid(`wrote ${members.length} headers`, `The maximum is ${maxHeaders}.`);
  }
  const sources = members.map(({ key, keyAt, value }): HeaderSource => {
    // A name is shown only once it is known to be one: a helper may have mixed up names and values.
    const nameDefect = headerNameDefect(key);
    if (nameDefect !== undefined) {
      const place = `line ${keyAt.line}, column ${keyAt.column}`;
      throw invalid(`wrote an invalid header name: at ${place}, it ${nameDefect}`, "Correct the key.");
    }
    if (value.kind === "string") return { name: key, value: value.value };
    const place = `line ${value.line}, column ${value.column}`;
    const defect = `wrote ${describeKind(value)} instead of a string, at ${place}`;
    throw invalid(defect, `Write the value of ${key} in double quotes.`);
  });
  try {
    return { headers: createHeaderFields(sources, helper), expiresAt };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    throw new ToolServerError("HELPER_OUTPUT_INVALID", error);
  }
}

/** A time with its zone, or seconds since the epoch, in milliseconds. */
function timeOf(node: JsonNode): number | undefined {
  if (node.kind === "number") return node.value > 0 && node.value < 1e11 ? node.value * 1000 : undefined;
  if (
    node.kind !== "string" ||
    !/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/.test(node.value)
  ) {
    return undefined;
  }
  const time = Date.parse(node.value);
  return Number.isNaN(time) ? undefined : time;
}
