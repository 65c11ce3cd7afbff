import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { createUserFolder, runCommand } from "./command.test.helper.js";

// The only read-only file system that is always there, also for root.
test.runIf(existsSync("/sys/kernel")).each([
  ["approvals", ["trust", "notes", "--yes"], "/sys/.config/wirescope/approvals.json"],
  [
    "the key for tokens",
    ["login", "notes", "--vault", "file", "--create-vault-key"],
    "/sys/.config/wirescope/vault.key",
  ],
])(
  "says which file cannot be written in a read-only HOME, why, and which variable moves it: %s",
  async (_, argv, path) => {
    const { file, configure } = createUserFolder();
    configure({ notes: { type: "http", url: "http://127.0.0.1:1/mcp" } });
    const env = { PATH: process.env.PATH ?? "", HOME: "/sys" };
    const { code, stderr } = await runCommand([...argv, "--config", file], { env });
    expect(code).not.toBe(0);
    expect(stderr).toContain(path);
    expect(stderr).toMatch(
      /the file system may be read-only|the file system is read-only|no permission|permission denied|not permitted/,
    );
    expect(stderr).toContain("set XDG_CONFIG_HOME to the absolute path of another folder");
  },
);
