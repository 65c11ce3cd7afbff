import { expect, test } from "vitest";
import { ToolServerError } from "../../errors.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createTestWalk } from "../explain.test.helper.js";
import { createWalk, within } from "./walk.js";

test("fails a task when it times out, and when the walk ends", async () => {
  const clock = createFakeClock();
  const walk = new AbortController();
  const limit = { clock, responseMs: 1000, signal: walk.signal };
  let seen: AbortSignal | undefined;
  const forEver = (signal: AbortSignal): Promise<never> => {
    seen = signal;
    return new Promise(() => {});
  };
  const slow = within(limit, forEver);
  clock.advance(1000);
  await expect(slow).rejects.toMatchObject({ code: "CALL_TIMEOUT", message: "No response within 1 s." });
  expect(seen?.aborted).toBe(true);
  const late = within(limit, forEver);
  walk.abort(new ToolServerError("CALL_TIMEOUT", { problem: "The walk ended.", advice: "" }));
  await expect(late).rejects.toThrow("The walk ended.");
  await expect(within(limit, async () => "done")).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
  expect(clock.waiting).toBe(0);
});

test.each([
  [{ type: "http", url: "https://api.example/" }, undefined, 10_000],
  [{ command: "node" }, undefined, 30_000],
  [{ command: "npx", args: ["some-server"] }, undefined, 120_000],
  [{ command: "npx" }, 700, 700],
])(
  "waits longer for a process, and even longer for one that may have to be downloaded: %j",
  (entry, given, expected) => {
    expect(createTestWalk(entry, { responseMs: given }).responseMs).toBe(expected);
  },
);

test("rejects if the entry is no longer trusted", async () => {
  const entry = { type: "http", url: "https://api.example/" };
  await expect(createTestWalk(entry).ensureTrusted()).resolves.toBeUndefined();
  const decision = { state: "new", approval: { server: "api" }, subject: { fingerprint: { files: [] } } } as never;
  const revoked = createTestWalk(entry, { evaluateTrust: async () => decision });
  await expect(revoked.ensureTrusted()).rejects.toMatchObject({ code: "NOT_TRUSTED" });
});

test("truncates a peer's text after redaction, so that no part of a secret remains", () => {
  const secrets = createSecretRegistry();
  secrets.add("a-secret-of-some-length");
  const options = { secrets, variables: {}, pluginRoot: "/" } as unknown as Parameters<typeof createWalk>[0];
  const { sanitize } = createWalk(options, { type: "http", name: "api" } as never, new AbortController().signal);
  expect(sanitize(`${"x".repeat(15)} a-secret-of-some-length`, 30)).toBe(`${"x".repeat(15)} [redacted]`);
  expect(sanitize("one\n\u001b[31mtwo")).toBe("one \\x1b[31mtwo");
});
