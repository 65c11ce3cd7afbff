import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { channelPrefix } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import { needsUserAction, redactFailure, redactValue } from "./connection-failures.js";
import { createMemoryConnection } from "./memory-server.test.helper.js";

const secret = "s3cr3t-value";
const redact = (text: string): string => text.replaceAll(secret, "[redacted]");

test.each([
  ["KEYCHAIN_UNAVAILABLE", true],
  ["NOT_TRUSTED", true],
  ["VAULT_UNREADABLE", false],
  ["CONNECTION_LOST", false],
] as const)(
  "decides whether only a user can fix %s, so that a keychain does not prompt at each retry: %s",
  (code, isExpected) => {
    expect(needsUserAction(new ToolServerError(code, { problem: "It failed.", advice: "" }))).toBe(isExpected);
  },
);

test("removes secrets from the message, the details, all causes and the stack of a failure", () => {
  const rawError = Object.assign(new Error(`it said ${secret}`), { code: "HPE_INVALID", data: `raw ${secret}` });
  const below = new ToolServerError(
    "CONNECTION_LOST",
    { problem: `lost at ${secret}`, advice: "" },
    { cause: rawError },
  );
  const failure = new ToolServerError(
    "CALL_REFUSED",
    { problem: `refused: ${secret}`, advice: "" },
    {
      cause: below,
      details: { rpcCode: 1, rpcData: { [secret]: [secret, { deep: secret, number: 1 }] }, stderr: [secret] },
    },
  );
  const redacted = redactFailure(failure, redact);
  expect(inspect(redacted, { depth: null, showHidden: true })).not.toContain(secret);
  expect(redacted.stack).not.toContain(secret);
  expect(redacted).toMatchObject({
    code: "CALL_REFUSED",
    message: "refused: [redacted]",
    details: { rpcCode: 1, rpcData: { "[redacted]": ["[redacted]", { deep: "[redacted]", number: 1 }] } },
  });
  expect(ToolServerError.is(redacted.cause, "CONNECTION_LOST")).toBe(true);
  const cause = (redacted.cause as Error).cause as Error & { code: string };
  expect([cause.name, cause.code, cause.message]).toEqual(["Error", "HPE_INVALID", "it said [redacted]"]);
  // Received bytes are not shown, whether or not they are a known secret.
  expect(cause).not.toHaveProperty("data");
});

test("returns a failure without secrets unchanged", () => {
  const failure = new ToolServerError(
    "CALL_TIMEOUT",
    { problem: "It took too long.", advice: "" },
    { details: { wasSent: true } },
  );
  expect(redactFailure(failure, redact)).toBe(failure);
  const value = { a: [1, "b", null, { c: true }] };
  expect(redactValue(value, redact)).toBe(value);
});

test("handles a failure that is its own cause", () => {
  const failure = new ToolServerError("CONNECTION_LOST", { problem: secret, advice: "" });
  failure.cause = failure;
  expect(inspect(redactFailure(failure, redact), { depth: null })).not.toContain(secret);
});

test("removes the secrets that a transport or a credential did not remove", async () => {
  const { server, secrets, connection } = createMemoryConnection();
  secrets.add(secret);
  const reasons: unknown[] = [];
  const onState = (message: unknown): void => void reasons.push(message);
  subscribe(`${channelPrefix}connection:state`, onState);
  onTestFinished(() => void unsubscribe(`${channelPrefix}connection:state`, onState));
  const careless = (): ToolServerError => {
    const cause = Object.assign(new Error(secret), { data: secret });
    return new ToolServerError(
      "SERVER_UNREACHABLE",
      { problem: `not at ${secret}`, advice: "" },
      { cause, details: { wasSent: true } },
    );
  };
  server.startFailure = careless();
  const first: unknown = await connection.connect().catch((error: unknown) => error);
  server.startFailure = undefined;
  await connection.connect();
  server.sendFailure = careless();
  const echo = { name: "echo", arguments: { text: "x" } };
  const second: unknown = await connection.callTool(echo).catch((error: unknown) => error);
  for (const error of [first, second]) {
    expect(ToolServerError.is(error, "SERVER_UNREACHABLE")).toBe(true);
    expect(inspect(error, { depth: null })).not.toContain(secret);
  }
  expect(reasons.length).toBeGreaterThan(3);
  expect(inspect(reasons, { depth: null })).not.toContain(secret);
});
