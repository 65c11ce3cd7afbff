import { AsyncLocalStorage } from "node:async_hooks";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import type { CredentialEnding, CredentialOperation } from "../../diagnostics.js";
import { channels, createOperationTracker } from "../../diagnostics.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createHelperCredential } from "../credentials/helper-credential.js";
import { createOAuthLog } from "./oauth-log.js";
import { callTool, createOAuthWorld, currentToken, testTransport } from "./oauth-world.test.helper.js";

const track = createOperationTracker(testTransport.connection);

interface Watched {
  /** An ended operation: its parent, kind, cause, outcome and subject. */
  readonly ends: string[];
  readonly all: unknown[];
}

/** Observes operations as telemetry does, with a store that holds the parent operation. */
function watch(): Watched {
  const watched: Watched = { ends: [], all: [] };
  const above = new AsyncLocalStorage<string>();
  const within = new WeakMap<CredentialOperation, string>();
  const { "credential:started": started, "credential:ended": ended } = channels;
  started.bindStore(above, (message) => {
    const operation = message as CredentialOperation;
    watched.all.push(operation);
    const path = [above.getStore(), operation.kind].filter(Boolean).join(" > ");
    within.set(operation, path);
    return path;
  });
  const onEnded = (message: unknown): void => {
    const { operation, outcome, code, durationMs } = message as CredentialEnding;
    watched.all.push(message);
    expect(durationMs).toBeGreaterThanOrEqual(0);
    watched.ends.push([within.get(operation), operation.cause, outcome, code].filter(Boolean).join(" "));
  };
  ended.subscribe(onEnded);
  onTestFinished(() => {
    started.unbindStore(above);
    ended.unsubscribe(onEnded);
  });
  return watched;
}

/** A user has signed in, and the clock does not advance. */
async function createWorld() {
  const world = await createOAuthWorld();
  const clock = createFakeClock(Date.now());
  const options = {
    clock,
    limits: { requestMs: 1e9, discoveryMs: 1e9 },
    log: createOAuthLog({ secrets: world.secrets, clock, track }),
  };
  const watched = watch();
  const session = world.session(options);
  await session.signIn(world.person);
  const signedIn = watched.ends.splice(0);
  return { world, ...watched, clock, options, session, signedIn };
}

test("a sign-in is tracked with its steps", async () => {
  const { signedIn } = await createWorld();
  expect(signedIn).toEqual(["sign-in > discovery done", "sign-in > registration done", "sign-in asked done"]);
});

test("a refresh is tracked: once if it is shared, as adopted from another process, and as failed if it is dead", async () => {
  const { world, ends, clock, options } = await createWorld();
  const other = world.session(options);
  await currentToken(other);
  clock.advance(3_600_000);
  const { credential } = world.credential(options);
  await Promise.all(Array.from({ length: 8 }, () => callTool(world.tool, credential)));
  expect(ends.splice(0)).toEqual(["refresh > discovery done", "refresh renewal done"]);
  expect(await currentToken(other)).toBeDefined();
  expect(ends.splice(0)).toEqual(["refresh renewal adopted"]);
  world.authorization.endAllAccess();
  world.authorization.endRefreshTokens();
  expect(await callTool(world.tool, credential)).toMatchObject({ code: "SIGN_IN_NEEDED" });
  expect(ends).toEqual(["refresh refusal failed TOKEN_REFUSED"]);
});

test("a declined sign-in is tracked as failed, and an abandoned one as cancelled", async () => {
  const { session, ends } = await createWorld();
  const declined = session.signIn({ show: () => Promise.reject(new Error("No.")) });
  await expect(declined).rejects.toMatchObject({ code: "SIGN_IN_FAILED" });
  expect(ends.splice(0)).toEqual(["sign-in > discovery done", "sign-in asked failed SIGN_IN_FAILED"]);
  const leaving = new AbortController();
  const left = session.signIn({ show: async () => void leaving.abort() }, {}, leaving.signal);
  await expect(left).rejects.toThrow();
  await expect.poll(() => ends.at(-1)).toBe("sign-in asked cancelled");
});

test("a step-up is tracked, with and without a user", async () => {
  const { world, options, ends } = await createWorld();
  const { tool, person } = world;
  tool.neededScope = "notes:write";
  expect(await callTool(tool, world.credential(options).credential)).toMatchObject({ status: 403 });
  expect(ends.splice(0)).toEqual(["step-up refusal failed SIGN_IN_NEEDED"]);
  expect(await callTool(tool, world.credential(options, person).credential)).toMatchObject({ status: 200 });
  expect(ends).toEqual([
    "step-up > sign-in > discovery done",
    "step-up > sign-in step-up done",
    "step-up refusal done",
  ]);
});

test("each run of a helper is tracked", async () => {
  const { ends } = watch();
  const folder = await createScriptFolder();
  await folder.sh('test -e ready && echo \'{"Authorization": "Bearer of-the-helper"}\'', "helper.sh");
  const clock = createFakeClock();
  const credential = createHelperCredential({
    server: "notes",
    url: "https://notes.example/mcp",
    helper: "./helper.sh",
    pluginRoot: folder.path,
    environment: { PATH: process.env.PATH },
    secrets: createSecretRegistry(),
    clock,
    track,
  });
  await expect(credential.headers()).rejects.toMatchObject({ code: "HELPER_FAILED" });
  await folder.sh("", "ready");
  clock.advance(10_000);
  await Promise.all([credential.headers(), credential.headers()]);
  expect(ends).toEqual(["helper first failed HELPER_FAILED", "helper first done"]);
  await credential.dispose();
});

test("tracked operations contain no token, code, client or query", async () => {
  const { all, world, clock, session } = await createWorld();
  clock.advance(3_600_000);
  await currentToken(session);
  const text = inspect(all, { depth: 12, showHidden: true, getters: true });
  expect(all.length).toBeGreaterThanOrEqual(6);
  for (const token of world.authorization.issued()) expect(text).not.toContain(token);
  const { way } = world.signInRequests[0] ?? {};
  for (const value of new URL(way?.url ?? "").searchParams.values()) {
    if (value.length > 8) expect(text).not.toContain(value);
  }
  expect(text).not.toContain("code=");
});

test("nothing is created for tracking without subscribers, and the operation succeeds", async () => {
  const { "credential:started": started, "credential:ended": ended } = channels;
  expect([started.hasSubscribers, ended.hasSubscribers]).toEqual([false, false]);
  expect(await track("refresh", "renewal", async (setOutcome) => setOutcome({ outcome: "adopted" }))).toBeUndefined();
  await expect(track("refresh", "renewal", () => Promise.reject(new Error("No.")))).rejects.toThrow("No.");
});
