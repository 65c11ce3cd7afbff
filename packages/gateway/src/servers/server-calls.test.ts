import { systemClock } from "@wirescope/tool-server/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAccounts } from "../callers/accounts.js";
import { StatelessCall } from "../callers/stateless-call.js";
import { createEvents } from "../events.js";
import { completeLimits } from "../limits.js";
import { createServerCalls } from "./server-calls.js";

test.for([
  ["removed", true, "did not end", /^Check what the call did/],
  ["changed", false, "was not sent", /^Call again\.$/],
  ["removed", false, "was not sent", /^$/],
] as const)(
  "cancels a call of a %s server with the truth about whether it was sent: %s",
  async ([why, wasSent, what, advice]) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const limits = completeLimits({ drainMs: 1000 });
    const calls = createServerCalls({ server: "notes", limits, clock: systemClock, events: createEvents() });
    const account = createAccounts(limits).create({ principal: "p", rateKey: "p" }, undefined);
    const options = { subject: "", account, capabilities: {}, logLevel: undefined, headers: undefined };
    const call = new StatelessCall({ id: 1, method: "tools/call" }, options);
    // Without a call that was sent, the server would not wait for the others.
    const sent = new StatelessCall({ id: 2, method: "tools/call" }, options);
    calls.add(sent);
    sent.wasSent = true;
    // Such as of an earlier attempt, before a sign-in.
    call.wasSent = true;
    calls.add(call);
    expect(call.wasSent).toBe(false);
    call.wasSent = wasSent;
    expect(calls.countSent()).toBe(wasSent ? 2 : 1);
    const drained = calls.drain(why);
    vi.advanceTimersByTime(1000);
    await drained;
    expect(call.reason).toMatchObject({
      code: "CONNECTION_CLOSED",
      problem: expect.stringContaining(what),
      advice: expect.stringMatching(advice),
      details: { wasSent },
    });
  },
);
