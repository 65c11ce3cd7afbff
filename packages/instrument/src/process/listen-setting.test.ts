import { expect, test } from "vitest";
import { parseListenSetting } from "./listen-setting.js";

test.each([
  ["127.0.0.1:4691", { host: "127.0.0.1", port: 4691 }],
  ["localhost:0", { host: "localhost", port: 0 }],
  ["[::1]:80", { host: "::1", port: 80 }],
  [":4691", { port: 4691 }],
  ["4691", { port: 4691 }],
  [" 4691 ", { port: 4691 }],
  ["unix:/run/app-{pid}.sock", { path: "/run/app-7.sock" }],
  ["unix:app.sock", { path: "app.sock" }],
])("parses %j as %j", (setting, expected) => {
  expect(parseListenSetting(setting, 7)).toEqual(expected);
});

test.each(["", "here", "unix:", "127.0.0.1", "::1:80", "localhost:70000", "http://localhost:80"])(
  "refuses %j with an example",
  (setting) => {
    expect(() => parseListenSetting(setting, 7)).toThrow(/Use, for example, 127\.0\.0\.1:4691/);
  },
);
