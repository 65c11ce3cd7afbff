import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connectToolServer } from "../../../connection/servers/connect-tool-server.js";
import { createMemoryVault } from "../../vault/memory-vault.js";
import { createOAuthWorld } from "../oauth-world.test.helper.js";
import { createTerminalSignIn } from "./terminal-sign-in.js";

/** A browser that opens the page, and follows its redirects. */
function createBrowser(): string {
  const folder = mkdtempSync(join(tmpdir(), "browser-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "browser");
  writeFileSync(path, `#!${process.execPath}\nfetch(process.argv[2]).then((page) => page.text());\n`);
  chmodSync(path, 0o755);
  return path;
}

test.runIf(process.platform === "linux")(
  "signs a user of a program in with the browser, when the first call needs it",
  async () => {
    const world = await createOAuthWorld();
    let shown = "";
    const signIn = createTerminalSignIn({
      env: { BROWSER: createBrowser() },
      stderr: { write: (text: string) => (shown += text) },
    });
    await using notes = await connectToolServer(
      { url: world.tool.url },
      { name: "notes", oauth: { vault: createMemoryVault(), signIn } },
    );
    const { content } = await notes.callTool({ name: "scopes", arguments: {} });
    expect(content).toEqual([{ type: "text", text: "notes:read offline_access" }]);
    expect(shown).toContain(`Sign in to notes with ${world.authorization.issuer}, because there is no sign-in yet.`);
  },
);
