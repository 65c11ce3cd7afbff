import { expect, test } from "vitest";
import { Canceller } from "../../cancellation.js";
import { Call, callEnded } from "./call.js";

test("calls every listener once when a call is cancelled, and none that was removed", () => {
  for (const removed of [0, 1, 2]) {
    const canceller = new Canceller();
    const called: number[] = [];
    const listeners = [0, 1, 2].map((name) => () => void called.push(name));
    for (const listener of listeners) canceller.addEventListener("abort", listener);
    canceller.removeEventListener("abort", listeners[removed] ?? (() => {}));
    const reason = new Error("too long");
    canceller.cancel(reason);
    canceller.cancel();
    expect(called).toEqual([0, 1, 2].filter((name) => name !== removed));
    expect([canceller.aborted, canceller.reason]).toEqual([true, reason]);
  }
});

test("aborts the signal of a cancelled call, whether it is requested before or after", () => {
  const [before, after] = [new Canceller(), new Canceller()];
  const { signal } = before;
  const reason = new Error("stop");
  for (const canceller of [before, after]) canceller.cancel(reason);
  expect([signal.reason, after.signal.reason]).toEqual([reason, reason]);
});

test("settles a call once, and cancels everything that waits for its caller", () => {
  const call = new Call({ id: 1, method: "tools/call" }, "modern");
  call.settle({ result: { first: true } });
  call.settle({ result: { second: true } });
  expect(call.outcome).toEqual({ result: { first: true } });
  expect([call.aborted, call.reason, call.isAbandoned]).toEqual([true, callEnded, false]);
});

test("allows one route for a call that was sent", () => {
  const call = new Call({ id: 1, method: "tools/call" }, "modern");
  call.setRoute("b", "tool");
  call.setRoute("a", "tool");
  call.wasSent = true;
  call.setRoute("a", "tool");
  expect(() => call.setRoute("b", "tool")).toThrow("another route");
  expect(call.route).toEqual({ server: "a", name: "tool" });
});
