import { systemClock } from "@wirescope/tool-server/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAccounts } from "../callers/accounts.js";
import { StatelessCall } from "../callers/stateless-call.js";
import { createEvents } from "../events.js";
import { completeLimits } from "../limits.js";
import { createServerCalls } from "./server-calls.js";

test("cancels a call that was not sent when the server drains, and one that was sent after a time limit", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const limits = completeLimits({ drainMs: 1000 });
  const calls = createServerCalls({ server: "notes", limits, clock: systemClock, events: createEvents() });
  const account = createAccounts(limits).create({ principal: "p", rateKey: "p" }, undefined);
  const options = { subject: "", account, capabilities: {}, logLevel: undefined, headers: undefined };
  const [waiting, sent, late] = [1, 2, 3].map((id) => new StatelessCall({ id, method: "tools/call" }, options));
  // Such as by an earlier attempt, before a sign-in.
  waiting!.wasSent = true;
  calls.add(waiting!);
  calls.add(sent!);
  sent!.wasSent = true;
  const drained = calls.drain();
  expect(waiting!.reason).toMatchObject({
    code: "CONNECTION_CLOSED",
    problem: expect.stringContaining("was not called"),
    advice: "Call again.",
    details: { wasSent: false },
  });
  expect(sent!.aborted).toBe(false);
  expect(() => calls.add(late!)).toThrow(waiting!.reason as Error);
  vi.advanceTimersByTime(1000);
  await drained;
  expect(sent!.reason).toMatchObject({
    code: "CONNECTION_CLOSED",
    problem: expect.stringContaining("did not end within 1 s"),
    advice: expect.stringMatching(/^Check what the call did/),
    details: { wasSent: true },
  });
});
