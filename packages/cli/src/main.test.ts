import { mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSnapshot } from "@wirescope/channelz/timeline";
import { createRecording } from "@wirescope/channelz/timeline/node";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Io } from "./io.js";
import { main } from "./main.js";

async function run(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = "";
  let stderr = "";
  const io: Io = {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    env: {},
    now: () => new Date(),
  };
  const code = await main(argv, io);
  return { code, stdout, stderr };
}

describe("help", () => {
  test("lists the commands and the exit codes", async () => {
    const { code, stdout } = await run("--help");
    expect(code).toBe(0);
    for (const verb of ["channels", "servers", "sockets", "show <id>", "tree", "check [file]", "demo"])
      expect(stdout).toContain(`  ${verb}`);
    expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /);
    expect(await run("help")).toMatchObject({ code: 0, stdout });
  });

  test("shows the options of a command, even if other arguments are wrong", async () => {
    for (const argv of [
      ["sockets", "--help"],
      ["help", "sockets"],
      ["--bad", "sockets", "-h"],
    ]) {
      const { code, stdout } = await run(...argv);
      expect(code).toBe(0);
      expect(stdout).toContain("Usage: wirescope sockets");
      expect(stdout).toContain("--server <id>");
      expect(stdout).toContain("--target");
    }
  });

  test("offers no option that would put a token on the command line", async () => {
    const { stdout } = await run("tree", "--help");
    expect(stdout).not.toMatch(/--token\b(?!-)/);
    expect((await run("tree", "--token", "x")).code).toBe(2);
  });
});

test.each(["--version", "-v", "-V", "version"])("prints the version for %s", async (word) => {
  expect((await run(word)).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  [[], "Usage: wirescope"],
  [["chanels"], "Did you mean channels?"],
  [["wibble"], "Commands: up, demo, status, page"],
  [["channels", "--taget", "x"], "Did you mean --target?"],
  [["channels", "extra"], 'does not take the argument "extra"'],
  [["show"], "show requires <id>"],
  [["show", "abc"], "is not an id"],
  [["show", "0"], "is not an id"],
  [["show", "9223372036854775808"], "is not an id"],
  [["show", "1", "2"], 'does not take the argument "2"'],
  [["show", "1", "--kind", "thing"], "--kind must be one of"],
  [["tree", "--target", "nowhere"], "the port is missing"],
  [["tree", "--timeout", "soon"], "not a duration"],
  [
    ["tree", "--ca", "/nonexistent/ca.pem"],
    "Cannot read the file /nonexistent/ca.pem (--ca): the file does not exist.",
  ],
  [
    ["tree", "--token-file", "/nonexistent/token"],
    "Cannot read the file /nonexistent/token (--token-file): the file does not exist.",
  ],
  [["tree", "--cert", "x"], "must be used together"],
  [["tree", "--cert", "package.json", "--key", "package.json"], "must be PEM"],
  [["tree", "--header", "no colon"], "'name: value'"],
  [["tree", "--package", "other.v1"], "--package must be one of"],
  [["sockets", "--server", "x"], "--server"],
  [["tree", "--target", "192.0.2.1:80", "--header", "authorization: x"], "unencrypted"],
  [["--target", ":1"], "A command is missing"],
  [["check", "/nonexistent/.mcp.json"], "the file does not exist"],
  [["check", "a", "b"], 'does not take the argument "b"'],
  [["up", "--demo", "--config", "a.json"], "--demo and --config cannot be used together"],
  [
    ["up", "--config", "/nonexistent/mcp.json", "--port", "0"],
    "/nonexistent/mcp.json cannot be read: the file does not exist",
  ],
  [
    ["summary", "--target", "file:/nonexistent/a.wsr"],
    "Cannot read the recording /nonexistent/a.wsr: the file does not exist.",
  ],
  [["summary", "--target", "file:/tmp"], "Cannot read the recording /tmp: it is a directory."],
  [
    ["summary", "--target", "file:package.json"],
    "Cannot read the recording package.json: The file is not a Wirescope recording.",
  ],
  [
    ["diff", "/nonexistent/a.wsr@-5s", "package.json"],
    "Cannot read the recording /nonexistent/a.wsr: the file does not exist.",
  ],
  [["replay", "/nonexistent/a.wsr"], "Cannot read the recording /nonexistent/a.wsr: the file does not exist."],
  [
    ["record", "/nonexistent/a.wsr"],
    "Cannot write the recording /nonexistent/a.wsr: the folder does not exist. Create it",
  ],
  [
    ["up", "--demo", "--port", "0", "--audit-file", "/nonexistent/a"],
    "Cannot write the file /nonexistent/a (--audit-file): the folder does not exist. Create it",
  ],
  [["up", "--port"], "--port requires a value: --port <number>."],
  [["up", "--prot", "1"], "Did you mean --port?"],
])("ends wrong usage with exit code 2, one message and nothing on standard output: %j", async (argv, message) => {
  const { code, stdout, stderr } = await run(...argv);
  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/\n\s+at /);
});

test.each([
  ["summary", ["summary", "--target"]],
  ["tree of several targets", ["tree", "--target", "whole.wsr", "--target"]],
  ["watch", ["watch", "--target"]],
  ["top", ["top", "--once", "--target"]],
  ["explain", ["explain", "--target"]],
  ["diff", ["diff", "whole.wsr"]],
  ["diff of two moments", ["diff", "cut.wsr@-1s"]],
])("[CZ-D-RECORD-8] reports once that a recording is truncated: %s", async (_, words) => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["whole.wsr", "cut.wsr"]) {
    const recording = createRecording(join(folder, name), { flushMs: 1000 });
    for (const timeMs of [1000, 3000, 5000, 7000]) {
      recording.append(createSnapshot({ timeMs, origins: [{ name: "", target: "127.0.0.1:1" }], objects: [] }));
    }
    recording.close();
  }
  const cut = join(folder, "cut.wsr");
  truncateSync(cut, statSync(cut).size - 3);
  const argv = [...words.map((word) => word.replace(/^(?=(?:whole|cut)\.wsr)/, `${folder}/`)), cut];
  const { stderr } = await run(...argv);
  expect(stderr).toMatch(
    /^wirescope: \d+ bytes of the recording \S+cut\.wsr are missing or damaged and were skipped\.\n$/,
  );
});
