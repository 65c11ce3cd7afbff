import { systemClock } from "@wirescope/tool-server/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAccounts } from "../callers/accounts.js";
import { StatelessCall } from "../callers/stateless-call.js";
import { createEvents } from "../events.js";
import { completeLimits } from "../limits.js";
import { createServerCalls } from "./server-calls.js";

test.for([
  [true, "did not end", "Check what the call did"],
  [false, "was not sent", "Call again"],
] as const)(
  "cancels a call of a removed server with the truth about whether it was sent: %s",
  async ([wasSent, what, advice]) => {
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
    const drained = calls.drain("removed");
    vi.advanceTimersByTime(1000);
    await drained;
    expect(call.reason).toMatchObject({
      code: "CONNECTION_CLOSED",
      problem: expect.stringContaining(what),
      advice: expect.stringContaining(advice),
      details: { wasSent },
    });
  },
);
