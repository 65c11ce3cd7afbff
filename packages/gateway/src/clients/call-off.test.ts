import { expect, test } from "vitest";
import { createCallOff } from "./call-off.js";

test("all who want to know are told, once, with the reason", () => {
  const callOff = createCallOff();
  const told: unknown[] = [];
  const listeners = [1, 2, 3].map((name) => (reason: unknown) => void told.push([name, reason]));
  for (const listener of listeners) callOff.onOff(listener);
  const reason = new Error("too long");
  callOff.off(reason);
  callOff.off();
  expect(told).toEqual([1, 2, 3].map((name) => [name, reason]));
  expect([callOff.isOff, callOff.reason]).toEqual([true, reason]);
});

test.each([0, 1, 2])("who wants to know no more is not told (%d)", (index) => {
  const callOff = createCallOff();
  const told: number[] = [];
  const listeners = [0, 1, 2].map((name) => () => void told.push(name));
  for (const listener of listeners) callOff.onOff(listener);
  callOff.forget(listeners[index] ?? (() => {}));
  callOff.off();
  expect(told).toEqual([0, 1, 2].filter((name) => name !== index));
});

test("who asks when it is off is told at once", () => {
  const callOff = createCallOff();
  callOff.off();
  let isTold = false;
  callOff.onOff(() => {
    isTold = true;
  });
  expect(isTold).toBe(true);
});
