import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { ToolServerError } from "../errors.js";
import { systemReason } from "../files/system-reason.js";
import { checkFolder, checkOwnership, currentUser, existsOrDangles } from "./file-ownership.js";
import { parsePolicy, type TrustPolicy } from "./policy.js";

/** The default policy file. */
export const defaultPolicyPath = "/etc/wirescope/policy.json";

const maxBytes = 1_048_576;

/**
 * Reads the policy. Without a path it reads the default file, and returns undefined if that does not exist; a given file must exist. Throws
 * POLICY_UNREADABLE with every problem and its position, and also if users other than root and this user could change the file. Then
 * nothing may be trusted.
 */
export async function readPolicy(given?: string): Promise<TrustPolicy | undefined> {
  const path = resolve(given ?? defaultPolicyPath);
  const text = await readText(path, given === undefined);
  if (text === undefined) return undefined;
  const { policy, problems } = parsePolicy(text, path);
  if (policy !== undefined) return policy;
  const shown = problems.slice(0, 20).map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`);
  const more = problems.length > shown.length ? [`${problems.length - shown.length} more problems.`] : [];
  const reason = `it has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}`;
  throw fail(path, { reason, evidence: [...shown, ...more].join(" ") });
}

async function readText(path: string, isOptional: boolean): Promise<string | undefined> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile()) throw fail(path, { reason: "it is not a file" });
    const exposed = checkOwnership(stats, currentUser()) ?? (await checkFolder(await realpath(path)));
    if (exposed !== undefined) throw fail(path, exposed);
    if (stats.size > maxBytes) {
      throw fail(path, { reason: `its ${stats.size} bytes exceed the limit of ${maxBytes}` });
    }
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await handle.readFile());
  } catch (error) {
    if (ToolServerError.is(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    // A dangling link is a policy that is missing, not an absent one.
    if (code === "ENOENT" && isOptional && !(await existsOrDangles(path))) return undefined;
    const isLimit = code === "EMFILE" || code === "ENFILE";
    const advice = isLimit
      ? "Raise the limit of open files (ulimit -n, or LimitNOFILE in a systemd unit) and start again."
      : undefined;
    throw fail(path, { reason: systemReason(error), advice }, error);
  }
}

interface Unusable {
  readonly reason: string;
  readonly evidence?: string;
  readonly advice?: string | undefined;
}

function fail(
  path: string,
  { reason, evidence, advice = "Fix it, or ask its owner to." }: Unusable,
  cause?: unknown,
): ToolServerError {
  const problem = `Cannot use the policy ${path}: ${reason}. Nothing is trusted until it is fixed.`;
  const parts = { problem, evidence, advice };
  return new ToolServerError("POLICY_UNREADABLE", parts, { cause });
}
