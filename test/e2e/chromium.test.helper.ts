import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";

/** The browser: that of CHROMIUM_PATH, else Debian's. */
const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";

/** Whether a real browser is installed; prints a note if not. */
export const isChromiumInstalled: boolean = existsSync(executablePath);
if (!isChromiumInstalled) {
  console.warn(
    `Tests in a real browser are skipped: ${executablePath} does not exist. Install Chromium (Debian: chromium), or set CHROMIUM_PATH.`,
  );
}

/** Shared by the files of a process, and ends with it. */
let launched: Promise<Browser> | undefined;

/** Opens a page in a new context, and collects its problems. */
export async function openPage(options: BrowserContextOptions = {}): Promise<{ page: Page; problems: string[] }> {
  const isRoot = process.getuid?.() === 0;
  launched ??= chromium.launch({ executablePath, args: isRoot ? ["--no-sandbox"] : [] });
  const context = await (await launched).newContext(options);
  onTestFinished(() => context.close());
  // Only a hang reaches this, as in vitest.config.ts.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() !== "log") problems.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("requestfailed", (request) => {
    // A page that is left, or that closes a stream, aborts its requests.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") problems.push(`failed: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, problems };
}
