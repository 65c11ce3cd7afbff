import { expect, test } from "vitest";
import { formatAddress, matchPath, parseAddress } from "./address.js";

test("reads the view, its query and the panel from an address, and writes the same address again", () => {
  const address = parseAddress("/connections?state=READY&panel=/object/channel/12");
  expect(address.path).toBe("/connections");
  expect(address.query.get("state")).toBe("READY");
  expect(address.panel).toBe("/object/channel/12");
  expect(formatAddress(address)).toBe("/connections?state=READY&panel=/object/channel/12");
  expect(parseAddress(formatAddress({ ...address, panel: "/calls/7?tab=a&b=c" })).panel).toBe("/calls/7?tab=a&b=c");
});

test("reads the moment from an address, and ignores one that is not a time", () => {
  const address = parseAddress("/calls?q=a:b&at=2026-11-18T15:04:31.250Z");
  expect(address.momentMs).toBe(Date.UTC(2026, 10, 18, 15, 4, 31, 250));
  expect(formatAddress(address)).toBe("/calls?q=a:b&at=2026-11-18T15:04:31.250Z");
  expect(parseAddress("/calls?at=yesterday").momentMs).toBeUndefined();
});

test("ignores a panel that is not a path of this page", () => {
  expect(parseAddress("/?panel=https://elsewhere.example/").panel).toBeUndefined();
});

test("matches a path with parameters and decodes them", () => {
  expect(matchPath("/object/:kind/:id", "/object/channel/12")).toEqual({ kind: "channel", id: "12" });
  expect(matchPath("/servers/:name", "/servers/a%20b%2Fc")).toEqual({ name: "a b/c" });
  expect(matchPath("/calls", "/calls/12")).toBeUndefined();
  expect(matchPath("/servers/:name", "/servers/%")).toBeUndefined();
});
