import { expect, test } from "vitest";
import { createUrlElicitations } from "./url-elicitations.js";

test("lets only the server that sent an elicitation report its completion, and only once", () => {
  const elicitations = createUrlElicitations();
  elicitations.add("payment-1", "bank");
  expect(elicitations.complete("payment-1", "other")).toBe(false);
  expect(elicitations.complete("payment-1", "bank")).toBe(true);
  expect(elicitations.complete("payment-1", "bank")).toBe(false);
});

test("lets the gateway report the completion of its own elicitation", () => {
  const elicitations = createUrlElicitations();
  elicitations.add("random", "bank");
  expect(elicitations.complete("random", undefined)).toBe(true);
  expect(elicitations.complete("unknown", undefined)).toBe(false);
});

test("refuses an id that another server uses", () => {
  const elicitations = createUrlElicitations();
  elicitations.add("payment-1", "bank");
  elicitations.add("payment-1", "bank");
  expect(() => elicitations.add("payment-1", "other")).toThrow("Another server uses this elicitationId.");
  elicitations.remove("payment-1");
  elicitations.add("payment-1", "other");
});

test("bounds the number of ids and their length", () => {
  const elicitations = createUrlElicitations();
  expect(() => elicitations.add("x".repeat(1025), "bank")).toThrow("at most 1024 characters");
  for (let number = 0; number < 101; number += 1) elicitations.add(`id-${number}`, "bank");
  expect(elicitations.complete("id-0", "bank")).toBe(false);
  expect(elicitations.complete("id-1", "bank")).toBe(true);
});
