import { expect, test } from "vitest";
import { z } from "zod";
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

test("restarts the idle time-out of a call when the server reports its progress, and of no other call", async () => {
  const { server, clock, connection } = createMemoryConnection();
  await connection.connect();
  const finish: (() => void)[] = [];
  let reportProgress = (): Promise<void> => Promise.resolve();
  server.server.registerTool("work", { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? "none";
    const params = { progressToken, progress: 1 };
    reportProgress = () => mcpReq.notify({ method: "notifications/progress", params });
    await new Promise<void>((resolve) => finish.push(resolve));
    return { content: [{ type: "text", text: "done" }] };
  });
  const progress: unknown[] = [];
  // Takes an id of the connection before the call that reports progress.
  const other = connection.callTool({ name: "wait", arguments: {} }).catch((error: unknown) => error);
  const call = connection.callTool({ name: "work", arguments: {} }, { onProgress: (one) => progress.push(one) });
  await expect.poll(() => finish.length, waiting).toBe(1);
  clock.advance(minute - 1);
  await reportProgress();
  await expect.poll(() => progress, waiting).toEqual([{ progress: 1 }]);
  clock.advance(minute - 1);
  expect(await other).toMatchObject({ code: "CALL_TIMEOUT" });
  finish[0]?.();
  expect(await call).toMatchObject({ content: [{ text: "done" }] });
});
