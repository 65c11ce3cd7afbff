import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseOptions } from "../options.js";
import { UsageError } from "../usage-error.js";
import { listenOptionsOf } from "./listen-options.js";
import { upOptions } from "./up-options.js";

const pem = (name: string): string =>
  fileURLToPath(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url));
const read = (...argv: string[]): ReturnType<typeof listenOptionsOf> =>
  listenOptionsOf(parseOptions(upOptions, argv).values);

test("the options say where it listens and who may call", () => {
  expect(read()).toEqual({ port: 4690 });
  expect(read("--port", "0", "--no-token")).toEqual({ port: 0, token: false });
  const tls = ["--cert", pem("server"), "--key", pem("server-key"), "--client-ca", pem("ca")];
  const names = ["--allow-host", "tools.example", "--allow-origin", "https://tools.example"];
  expect(read("--host", "0.0.0.0", "--token-file", "/t", ...tls, ...names)).toEqual({
    port: 4690,
    host: "0.0.0.0",
    tokenFile: "/t",
    tls: {
      cert: { file: pem("server") },
      key: { file: pem("server-key") },
      ca: { file: pem("ca") },
    },
    allowedHosts: ["tools.example"],
    allowedOrigins: ["https://tools.example"],
  });
});

test.each([
  [["--port", "70000"], "--port must be a number"],
  [["--port", "x"], "--port must be a number"],
  [["--cert", "x"], "must be used together"],
  [["--client-ca", pem("ca")], "requires --cert and --key"],
  [["--cert", "nowhere.pem", "--key", pem("server-key")], "Cannot read the file nowhere.pem (--cert) (ENOENT)."],
  [["--no-token", "--token-file", "x"], "cannot be used together"],
  [["--allow-origin", "tools.example"], "--allow-origin must be an origin"],
  [["--allow-origin", "https://tools.example/path"], "--allow-origin must be an origin"],
])("%j is used wrongly", (argv, message) => {
  expect(() => read(...argv)).toThrow(UsageError);
  expect(() => read(...argv)).toThrow(message);
});
