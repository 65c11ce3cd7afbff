import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { OAuthContext } from "./auth/oauth/oauth-context.js";
import { parsePastedRedirect } from "./auth/oauth/sign-in/authorization-code.js";
import { noResponse, notSent, tooLong } from "./connection/call-failure.js";
import { connectionOver } from "./connection/transports/transport-life.js";
import { ToolServerError } from "./errors.js";
import { createSecretRegistry } from "./secrets/redactor.js";
import { readPolicy } from "./trust/read-policy.js";

const packages = join(import.meta.dirname, "../..");

/** Verbs at the start of an advice. */
const imperative =
  /[.;:?!] (Add|Allow|Approve|Ask|Call|Check|Configure|Connect|Copy|Delete|End|Export|Fix|Give|Install|Look|Move|Name|Pin|Put|Raise|Register|Remove|Report|Run|Save|See|Send|Set|Sign|Start|Try|Use|Wait|Write)\b/;

/** The string literals that sources use as the problem of an error, each with its file and line. */
function problemsOf(file: string): { readonly place: string; readonly problem: string }[] {
  const source = readFileSync(join(packages, file), "utf8");
  const literals = source.matchAll(/\bproblem(?::|\s=)\s*(`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*")/g);
  return [...literals].map((literal) => ({
    place: `${file}:${source.slice(0, literal.index).split("\n").length}`,
    problem: literal[1] ?? "",
  }));
}

test("keeps advice out of the problem of every error, because it is a separate part", () => {
  const problems = ["tool-server/src", "gateway/src", "cli/src"].flatMap((folder) =>
    readdirSync(join(packages, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/\.test\.(helper\.)?ts$/.test(file))
      .flatMap((file) => problemsOf(join(folder, file))),
  );
  expect(problems.length).toBeGreaterThan(100);
  expect(problems.filter(({ problem }) => imperative.test(problem))).toEqual([]);
});

const lost = new ToolServerError("CONNECTION_LOST", { problem: "It ended its stream.", advice: "Connect again." });
const context = { server: "notes", secrets: createSecretRegistry() } as unknown as OAuthContext;

test.each([
  [
    "connection: a silent server",
    () => noResponse("notes", "tools/call", 1000, "It wrote a log."),
    "Increase the time limit",
  ],
  [
    "connection: a call that waited for a connection",
    () => notSent("notes", { method: "tools/call", isQueued: true }, 1000),
    "Try again later",
  ],
  [
    "connection: a connection that was not ready",
    () => notSent("notes", { method: "tools/call", isQueued: false }, 1000),
    "Try again later",
  ],
  ["connection: a long call", () => tooLong("tools/call", "notes", 1000, true), "Increase the time limit"],
  ["connection: a long wait", () => tooLong("tools/call", "notes", 1000, false), "Increase the time limit"],
  ["transports: a call after the end", () => connectionOver("notes", undefined, false), "Connect again"],
  ["transports: the failure that ended it", () => connectionOver("notes", lost, false), "Connect again"],
  [
    "oauth: another page",
    () => parsePastedRedirect(context, "https://x.example", "http://127.0.0.1/"),
    "Copy the complete address",
  ],
  ["trust: a missing policy", () => readPolicy("/nonexistent/policy.json"), "Fix it"],
])("keeps advice apart from the problem, and last in the message: %s", async (_, fail, advice) => {
  const error = await Promise.resolve<unknown>(undefined)
    .then<unknown>(fail)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ToolServerError);
  expect(error).toMatchObject({ advice: expect.stringMatching(`^${advice}`) });
  const { problem, advice: whole, message } = error as ToolServerError;
  expect(problem).not.toContain(advice);
  expect(message.endsWith(` ${whole}`)).toBe(true);
});
