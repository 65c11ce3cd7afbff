import { expect, test } from "vitest";
import { completeLimits } from "../limits.js";
import { createAccounts } from "./accounts.js";

const p = { principal: "p", rateKey: "p" };
const accounts = () => createAccounts(completeLimits());

test("truncates a long client name, and keeps the rest out of memory", () => {
  const { shared, create } = accounts();
  const collect = globalThis.gc as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = Array.from({ length: 50 }, (_, index) => {
    const client = { name: `${index} ${"n".repeat(1_000_000)}`, version: "1" };
    return [shared(p, client), create(p, client)];
  });
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
  expect(kept.flat().map(({ label }) => label.length)).toEqual(kept.flat().map(() => 100));
});

test("shares an account between requests with the same principal and name, and with no others", () => {
  const { shared } = accounts();
  const first = shared(p, { name: "a", version: "1" });
  expect(shared(p, { name: "a", version: "1" })).toBe(first);
  expect(shared({ principal: "q", rateKey: "q" }, { name: "a", version: "1" })).not.toBe(first);
  expect(shared(p, { name: "a", version: "2" })).not.toBe(first);
  expect(shared(p, undefined)).not.toBe(first);
});
