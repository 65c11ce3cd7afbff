import { existsSync } from "node:fs";
import { type BrowserContext, chromium, type Page } from "playwright-core";

/** The browser: that of CHROMIUM_PATH, else Debian's. */
const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";

/** A browser that is signed in to a page. */
export interface PageBrowser {
  /** Opens an address with an empty cache, and waits for the text or element that the selector describes. */
  open(path: string, shown: string): Promise<OpenPage>;
  close(): Promise<void>;
}

/** An open page, and what it has received. */
export interface OpenPage {
  readonly page: Page;
  /** Milliseconds from the request of the address until the selector was shown, as the test sees it. */
  readonly shownMs: number;
  /** Bytes of bodies and headers that have arrived, as they were transferred. */
  receivedBytes(): number;
  close(): Promise<void>;
}

/** Whether a browser is installed. */
export function hasChromium(): boolean {
  return existsSync(executablePath);
}

/** Starts a browser and exchanges the link, which works once, for a session. */
export async function startPageBrowser(link: string): Promise<PageBrowser> {
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({ executablePath, args: isRoot ? ["--no-sandbox"] : [] });
  const first = await browser.newContext();
  const page = await first.newPage();
  await page.goto(link);
  await page.waitForURL((url) => url.search === "");
  await page.getByText("live", { exact: true }).waitFor();
  const storageState = await first.storageState();
  await first.close();
  const { origin } = new URL(link);
  return {
    async open(path, shown) {
      const context = await browser.newContext({ storageState, viewport: { width: 1280, height: 800 } });
      return await openIn(context, origin + path, shown);
    },
    close: () => browser.close(),
  };
}

async function openIn(context: BrowserContext, url: string, shown: string): Promise<OpenPage> {
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  let bytes = 0;
  const received = new Map<string, { bytes: number; isCompressed: boolean }>();
  const add = (id: string, more: number): void => {
    const request = received.get(id);
    if (request === undefined) return;
    request.bytes += more;
    bytes += more;
  };
  network.on("Network.responseReceived", ({ requestId, response }) => {
    const isCompressed = Object.keys(response.headers).some((name) => name.toLowerCase() === "content-encoding");
    received.set(requestId, { bytes: 0, isCompressed });
    add(requestId, response.encodedDataLength);
  });
  network.on("Network.dataReceived", ({ requestId, dataLength }) => {
    // What a compressed response had on the wire is known at its end. Streams are not compressed as a whole.
    if (received.get(requestId)?.isCompressed === false) add(requestId, dataLength);
  });
  network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) =>
    add(requestId, Math.max(0, encodedDataLength - (received.get(requestId)?.bytes ?? 0))),
  );
  const startedAt = performance.now();
  await page.goto(url, { waitUntil: "commit" });
  await page.locator(shown).first().waitFor();
  return {
    page,
    shownMs: performance.now() - startedAt,
    receivedBytes: () => bytes,
    close: () => context.close(),
  };
}
