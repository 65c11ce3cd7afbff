import type { GatewayEvent } from "@wirescope/gateway";
import { expect, test } from "vitest";
import type { Io } from "../io.js";
import { hearOfCertificates } from "./hear-of-certificates.js";

const tls = { cert: { file: "/cert" }, key: { file: "/key" } };

/** What is logged, and written to standard error, of a change for the better, one for the worse, and an end. */
function hear(hasLog: boolean): { logged: GatewayEvent[]; written: string } {
  const heard = { logged: [] as GatewayEvent[], written: "" };
  const write = (text: string): void => {
    heard.written += text;
  };
  const io = { stderr: { write } } as unknown as Io;
  const listen = hearOfCertificates({ tls }, io, hasLog ? (event) => heard.logged.push(event) : undefined);
  expect(listen.tls).toMatchObject(tls);
  listen.tls?.onChange?.({ isUsable: true, files: ["/cert", "/key"], message: "It counts." });
  listen.tls?.onChange?.({ isUsable: false, files: ["/cert", "/key"], message: "It is \u001b[2Jempty." });
  listen.tls?.onExpiring?.({ isExpired: false, validUntil: new Date(), message: "It runs out." });
  return heard;
}

test("the log tells of certificates that count, of those that cannot, and of those that run out", () => {
  expect(hear(true)).toEqual({
    logged: [
      { kind: "certificates", files: ["/cert", "/key"], reason: "It counts." },
      { kind: "defect", reason: "It is \u001b[2Jempty." },
      { kind: "defect", reason: "It runs out." },
    ],
    written: "",
  });
});

test("without a log, what cannot be used or runs out is told all the same", () => {
  const { logged, written } = hear(false);
  expect(logged).toEqual([]);
  expect(written).toMatch(/^wirescope: It is .*empty\.\nwirescope: It runs out\.\n$/);
  expect(written).not.toContain("\u001b");
});

test("without TLS there is nothing to hear", () => {
  const listen = { port: 1 };
  expect(hearOfCertificates(listen, {} as Io, undefined)).toBe(listen);
});
