import type { Clock } from "../../clock.js";
import { headerNameDefect } from "../../config/headers.js";
import { type JsonNode, parseJsonWithPositions } from "../../config/json-with-positions.js";
import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { type Environment, scrubbedEnvironment } from "../../process/child-environment.js";
import { describeOutcome, type ProcessOutcome } from "../../process/process-outcome.js";
import { carriageReturnAdvice, hasCarriageReturn } from "../../process/resolve-command.js";
import { runProcess } from "../../process/run-process.js";
import { type Sandbox, sandboxAdvice } from "../../process/sandbox.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { isSecretName } from "../../secrets/secret-names.js";
import { findSecretShapes } from "../../secrets/secret-shapes.js";
import { createHeaderFields, type HeaderFields, type HeaderSource, secretsOfHeader } from "./header-fields.js";

/** A helper and its input. */
export interface HelperTask {
  /** The name of the server, passed as HOST_SERVER_NAME. */
  readonly server: string;
  /** The url of the server, passed as HOST_SERVER_URL. */
  readonly url: string;
  /** The absolute path of the script. */
  readonly path: string;
  /** The root of the plugin, in which the helper runs; passed as HOST_PLUGIN_ROOT. */
  readonly pluginRoot: string;
  /** The user's environment, which the helper gets. */
  readonly environment: Environment;
  /** The variables that it does not get: those with credentials of other servers. */
  readonly scrubbed: Iterable<string>;
  /** The sandbox in which it runs; undefined for none. */
  readonly sandbox: Sandbox | undefined;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  /** The secrets in its output are added to it. */
  readonly tokens: Pick<SecretRegistry, "add">;
  readonly timeLimitMs: number;
  readonly maxOutputBytes: number;
  readonly clock: Clock;
}

/** The result of a run: headers or an error, and how the process ended. */
export interface HelperRun {
  readonly outcome: ProcessOutcome;
  readonly result: HelperOutput | ToolServerError;
}

/** What a helper wrote. */
export interface HelperOutput {
  readonly headers: HeaderFields;
  /** When the headers expire, in milliseconds since the epoch; undefined if the helper does not state it. */
  readonly expiresAt: number | undefined;
}

/** Runs a helper once. Never rejects; if the signal aborted, the outcome is `aborted`. */
export async function runHelper(task: HelperTask, signal: AbortSignal): Promise<HelperRun> {
  const { server, url, path, pluginRoot, secrets, clock, timeLimitMs, maxOutputBytes } = task;
  const env = scrubbedEnvironment(task.environment, task.scrubbed, {
    HOST_PLUGIN_ROOT: pluginRoot,
    HOST_SERVER_NAME: server,
    HOST_SERVER_URL: url,
  });
  // The helper may print its input. Short values are more often settings than secrets: AUTH=none.
  for (const [name, value] of Object.entries(env)) if (isSecretName(name) && value.length >= 8) secrets.add(value);
  const outcome = await runProcess({
    command: path,
    cwd: pluginRoot,
    env,
    sandbox: task.sandbox,
    timeLimitMs,
    maxOutputBytes,
    clock,
    signal,
    redact: (text) => hideTokens(secrets.redact(text)),
  });
  const hasFailed = outcome.kind !== "exited" || outcome.code !== 0;
  const isFromWindows = hasFailed && (await hasCarriageReturn(path));
  return { outcome, result: resultOf(outcome, task, isFromWindows) };
}

function resultOf(
  outcome: ProcessOutcome,
  { server, path, secrets, tokens, sandbox }: HelperTask,
  isFromWindows: boolean,
): HelperOutput | ToolServerError {
  const helper = `The helper of server ${JSON.stringify(server)} (${printableText(path, 500)})`;
  // Parsed whatever the outcome is: the output of a failed run may also appear in its standard error.
  const output = "stdout" in outcome ? readOutput(outcome.stdout, helper, tokens) : undefined;
  const fail = (code: ToolServerError["code"], advice: string): ToolServerError => {
    const stderr = "stderr" in outcome ? outcome.stderr : [];
    const lastLines =
      stderr.length === 0 ? "." : `; last lines of standard error: "${secrets.redact(stderr.join(" | "))}".`;
    return new ToolServerError(code, { problem: `${helper} ${describeOutcome(outcome)}${lastLines}`, advice });
  };
  const byHand = `Run it in a terminal to see why.${sandbox === undefined ? "" : ` ${sandboxAdvice.failed}`}`;
  if (isFromWindows) return fail("HELPER_NOT_RUNNABLE", carriageReturnAdvice(printableText(path, 500)));
  switch (outcome.kind) {
    case "exited":
      return outcome.code === 0 && output !== undefined ? output : fail("HELPER_FAILED", byHand);
    case "timed-out":
      return fail("HELPER_TIMEOUT", "Find out what it waits for; it must not prompt the user.");
    case "too-much-output":
      return fail("HELPER_OUTPUT_INVALID", "It must write one JSON object of headers and nothing else.");
    case "not-found":
      return fail(
        "HELPER_NOT_RUNNABLE",
        /\s/.test(path)
          ? "headersHelper is a path without arguments: write a script that passes them, and use its path."
          : "Check the path in headersHelper, and the first line of the script.",
      );
    case "not-executable":
      return fail("HELPER_NOT_RUNNABLE", "Make it executable with chmod +x.");
    case "hidden":
      return fail("HELPER_NOT_RUNNABLE", sandboxAdvice.hidden);
    case "not-started":
      return fail("HELPER_NOT_RUNNABLE", "Check the limits of this machine and of this user.");
    default:
      return fail("HELPER_FAILED", byHand);
  }
}

/** The headers in the output of a helper, with their secrets added to `tokens`; or what is wrong with the output. */
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

/** A helper that fails may print a token that it has just created, which is not known as a secret yet. */
function hideTokens(text: string): string {
  return findSecretShapes(text)
    .reduce((rest, { value }) => rest.replaceAll(value, "[redacted]"), text)
    .replace(/\b(bearer|basic)(\s+|%20)[^\s"',;]+/gi, "$1 [redacted]");
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
    throw invalid(
      `wrote output that ${what}, at ${place}`,
      "It must write one JSON object and nothing else; messages go to standard error.",
    );
  }
  if (root.kind !== "object") {
    throw invalid(`wrote ${withArticle(root.kind)}, not an object`, 'It must write {"Header-Name": "value"}.');
  }
  const envelope = root.members.find(({ key, value }) => key === "headers" && value.kind === "object")?.value;
  const expiry = envelope && root.members.find(({ key }) => key === "expiresAt")?.value;
  const expiresAt = expiry && timeOf(expiry);
  if (expiry !== undefined && expiresAt === undefined) {
    throw invalid(
      `wrote an invalid expiresAt, at line ${expiry.line}, column ${expiry.column}`,
      'Write a time such as "2026-01-31T12:00:00Z", or seconds since 1970 as a number.',
    );
  }
  const members = envelope?.kind === "object" ? envelope.members : root.members;
  if (members.length === 0) {
    throw invalid(
      "wrote an empty object",
      'Let it write {"Header-Name": "value"}, or end with another code than 0 if it has no credential.',
    );
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
    throw invalid(
      `wrote ${withArticle(value.kind)} instead of a string, at ${place}`,
      `Write the value of ${key} in double quotes.`,
    );
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

function withArticle(kind: JsonNode["kind"]): string {
  if (kind === "null") return "null";
  return kind === "array" || kind === "object" ? `an ${kind}` : `a ${kind}`;
}
