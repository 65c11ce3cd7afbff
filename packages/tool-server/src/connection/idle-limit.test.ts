import { expect, test } from "vitest";
import { waiting } from "../waiting.test.helper.js";
import { createMemoryConnection } from "./memory-server.test.helper.js";

const minute = 60_000;

test("counts the time after a sign-in towards the idle time-out, but not the time that the user takes", async () => {
  let isAsked = false;
  const { server, clock, connection } = createMemoryConnection({ isWaitingForUser: () => isAsked });
  const call = connection.callTool({ name: "wait", arguments: {} });
  const settled = call.catch((error: unknown) => error);
  await expect.poll(() => server.runs, waiting).toBe(1);
  isAsked = true;
  clock.advance(10 * minute);
  isAsked = false;
  const cancelled = new Promise((resolve) => {
    server.onCancelled = resolve;
  });
  clock.advance(minute);
  expect(await settled).toMatchObject({
    code: "CALL_TIMEOUT",
    message: expect.stringContaining("nor reported progress for 60 s"),
  });
  // The call is cancelled at the server.
  await cancelled;
  expect(clock.waiting).toBe(0);
});

test("continues a call after a user took their time, and cancels one whose caller gave up meanwhile", async () => {
  let isAsked = false;
  const { server, clock, connection } = createMemoryConnection({ isWaitingForUser: () => isAsked });
  const caller = new AbortController();
  const [first, second] = [undefined, caller.signal].map((signal) =>
    connection.callTool({ name: "wait", arguments: {} }, { signal }).catch((error: unknown) => error),
  );
  await expect.poll(() => server.runs, waiting).toBe(2);
  isAsked = true;
  clock.advance(10 * minute);
  caller.abort();
  expect(await second).toMatchObject({ code: "CALL_CANCELLED" });
  server.release();
  expect(await first).toMatchObject({ content: [{ text: "released" }] });
});
