import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createBrowser } from "../e2e/browser.test.helper.js";
import { startGuardedToolServer } from "../e2e/guarded-tool-server.test.helper.js";
import { startRealAuthorizationServer } from "../e2e/real-authorization-server.test.helper.js";
import { endOf, startProcess } from "../e2e/running-process.test.helper.js";
import { packPackages } from "./installed-packages.test.helper.js";

const script = fileURLToPath(new URL("first-call.sh", import.meta.url));

test("calls a tool of a server that requires a sign-in, three commands after an empty folder and home", async () => {
  const tool = await startGuardedToolServer(await startRealAuthorizationServer());
  const { tarballs, folder, envWith, remove } = await packPackages("wirescope");
  onTestFinished(remove);
  const env = envWith(process.execPath, { WIRESCOPE: tarballs[0], SERVER: tool.url });
  const run = startProcess("sh", [script], { cwd: folder, env });
  // Without a terminal no browser opens: the user follows the link.
  const link = (): string | undefined => /http:\S+[?&]code_challenge=\S+/.exec(run.stdout + run.stderr)?.[0];
  await expect.poll(() => link() !== undefined || run.process.exitCode, { timeout: 500_000 }).toBe(true);
  await createBrowser().signIn(link() ?? "");
  expect(await endOf(run)).toMatchObject({ code: 0, stdout: expect.stringContaining("milk, eggs") });
});
