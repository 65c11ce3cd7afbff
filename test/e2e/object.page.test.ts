import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { addAdminServicesToServer, Client, credentials, Server, ServerCredentials } from "@grpc/grpc-js";
import {
  type ChannelzListener,
  connectChannelz,
  createRegistry,
  lingerOption,
  listenChannelz,
  tcpInfoOption,
} from "@wirescope/channelz";
import { afterAll, describe, expect, test } from "vitest";
import { isChromiumInstalled } from "./chromium.test.helper.js";
import { checkAccessibility } from "./page.test.helper.js";
import { useTargetPage } from "./page-target.test.helper.js";

const hostileText = `<script>alert(1)</script>\u001b[31m\u202e${"x".repeat(10_000)}`;
const remoteCertificate = new Uint8Array(
  new X509Certificate(readFileSync(new URL("../certificates/server.pem", import.meta.url))).raw,
);

const registry = createRegistry();
let listener: ChannelzListener;
const orders = registry.addChannel({ name: "orders", target: "dns:///orders.internal:443", state: "READY" });
const subchannel = registry.addSubchannel({ parent: orders, target: "10.0.0.7:443", state: "READY" });
orders.trace("The connection was lost", { severity: "error" });
orders.trace(hostileText, { severity: "warning" });
const subject = {};
const secured = registry.addSocket({
  parent: subchannel,
  local: { ip: "127.0.0.1", port: 40_000 },
  remote: { ip: "127.0.0.1", port: 443 },
  security: { tls: { standardName: "TLS_AES_128_GCM_SHA256", remoteCertificate } },
  subject,
  describe: () => ({
    localFlowControlWindow: 65_535,
    remoteFlowControlWindow: 0,
    options: [
      { name: "TCP_NODELAY", value: "1" },
      { name: "SO_ODD", value: hostileText },
      lingerOption(true, 1500),
      tcpInfoOption({ tcpiState: 1, tcpiRtt: 41_250 }),
    ],
  }),
});
const server = registry.addServer({ name: "api" });
const accepted = registry.addSocket({
  server,
  local: { ip: "127.0.0.1", port: 443 },
  remote: { ip: "127.0.0.1", port: 40_000 },
});
/** The registry forgets what nobody holds. */
const held: readonly unknown[] = [orders, subchannel, secured, subject, server, accepted];

const targetPage = useTargetPage(async () => {
  listener = await listenChannelz(registry);
  return [listener.address];
});
afterAll(async () => {
  expect(held).toHaveLength(6);
  await listener.close({ deadlineMs: 0 });
});

/** A server of grpc-js with the Channelz that grpc-js has itself, and a client of it. */
const grpcServer = new Server();
let grpcClient: Client;
let grpcTarget = "";
const grpcPage = useTargetPage(async () => {
  addAdminServicesToServer(grpcServer);
  const port = await new Promise<number>((resolve, reject) => {
    const done = (error: Error | null, bound: number): void => (error === null ? resolve(bound) : reject(error));
    grpcServer.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
  });
  grpcTarget = `127.0.0.1:${port}`;
  grpcClient = new Client(grpcTarget, credentials.createInsecure());
  await new Promise<void>((resolve, reject) => {
    grpcClient.waitForReady(Date.now() + 10_000, (error) => (error === undefined ? resolve() : reject(error)));
  });
  return [grpcTarget];
});
afterAll(() => {
  grpcClient.close();
  grpcServer.forceShutdown();
});

describe.skipIf(!isChromiumInstalled)("the view Object", () => {
  test("shows a channel with live counters and its trace, and links to what it uses", async () => {
    const page = await targetPage.open(`/object/channel/${orders.id}`);
    await page.getByRole("heading", { name: "orders" }).waitFor();
    const started = page.getByRole("row", { name: /calls started/ });
    await expect.poll(() => started.textContent()).toBe("calls started00");
    for (let call = 0; call < 1200; call += 1) orders.callStarted();
    orders.callFailed();
    await expect.poll(() => started.textContent()).toMatch(/^calls started1,200[1-9]/);
    await expect.poll(() => page.getByRole("row", { name: /calls open/ }).textContent()).toContain("1,199");
    await page
      .getByRole("img", { name: /^Calls per second, now: started/ })
      .locator("canvas")
      .waitFor();
    const trace = page.getByRole("region", { name: "Trace" });
    await trace.getByText("error", { exact: true }).waitFor();
    await trace.getByText("The connection was lost").waitFor();
    await page
      .getByRole("region", { name: "Uses" })
      .getByRole("link", { name: `subchannel ${subchannel.id}` })
      .click();
    await page.getByRole("heading", { name: "10.0.0.7:443" }).waitFor();
    await page
      .getByRole("navigation", { name: "Parents" })
      .getByRole("link", { name: /orders/ })
      .click();
    await page.getByRole("heading", { name: "orders" }).waitFor();
  });

  test("shows options, TCP, windows and the certificate of a socket with their meaning, and its other end", async () => {
    const page = await targetPage.open(`/object/socket/${secured.id}`);
    const options = page.getByRole("region", { name: "Socket options" });
    await expect
      .poll(() => options.getByRole("row", { name: /TCP_NODELAY/ }).textContent())
      .toMatch(/small packets.*on$/);
    expect(await options.getByRole("row", { name: /SO_LINGER/ }).textContent()).toContain("1500 ms");
    expect(await page.getByRole("region", { name: "TCP", exact: true }).textContent()).toContain(
      "round-trip time41.3 ms",
    );
    expect(await page.getByRole("region", { name: "Flow control" }).textContent()).toContain(
      "0 bytes, sender must wait",
    );
    const security = page.getByRole("region", { name: "Security" });
    await expect.poll(() => security.textContent()).toContain("CN=Wirescope test server");
    expect(await security.textContent()).toMatch(/TLS_AES_128_GCM_SHA256.*valid.*expires/s);
    await page.getByRole("link", { name: `socket ${accepted.id}` }).click();
    await page.getByRole("heading", { name: "127.0.0.1:40000 → 127.0.0.1:443" }).waitFor();
    await expect.poll(() => page.locator(".object-kind").textContent()).toContain(`socket ${accepted.id}`);
  });

  test("[TS-D-PAGE-13] lists the certificates of a process in its overview with their expiry, and opens the socket that uses one", async () => {
    const page = await targetPage.open("/");
    const certificates = page.getByRole("table", { name: "certificates" });
    const row = certificates.locator("tbody tr");
    await row.getByText("peer", { exact: true }).waitFor();
    expect(await row.count()).toBe(1);
    const { subject: given = "", validTo } = new X509Certificate(remoteCertificate);
    expect(await row.textContent()).toContain(given.split("\n").at(-1)?.trim());
    const year = String(new Date(validTo).getUTCFullYear());
    expect(await row.locator("time").getAttribute("title")).toContain(year);
    await row.click();
    await page.getByRole("complementary", { name: "Object" }).getByText("TLS_AES_128_GCM_SHA256").first().waitFor();
  });

  test("keeps focus, scroll position and open parts while the object changes", async () => {
    const page = await targetPage.open(`/object/channel/${orders.id}`, { viewport: { width: 1000, height: 500 } });
    // The chart is loaded later, and would move what is below it.
    await page.locator("canvas").first().waitFor();
    const long = page.locator("details.long-text summary").first();
    await long.click();
    const before = await page.evaluate(() => [
      document.activeElement?.tagName,
      document.querySelector("main")?.scrollTop,
    ]);
    const count = page.getByRole("row", { name: /calls succeeded/ });
    const shown = await count.textContent();
    orders.callSucceeded();
    await expect.poll(() => count.textContent()).not.toBe(shown);
    expect(
      await page.evaluate(() => [document.activeElement?.tagName, document.querySelector("main")?.scrollTop]),
    ).toEqual(before);
    expect(await page.locator("details.long-text[open]").count()).toBe(1);
  });

  test("shows markup, control characters and 10,000 characters in traces and options as text", async () => {
    const page = await targetPage.open(`/object/channel/${orders.id}`, { viewport: { width: 390, height: 844 } });
    await page.getByText("<script>alert(1)</script>\\x1b[31m\\u202exxx").first().waitFor();
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.goto(new URL(`/object/socket/${secured.id}`, page.url()).href);
    await page.getByRole("row", { name: /SO_ODD/ }).waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
    expect(await page.locator("main script, main img").count()).toBe(0);
  });

  test("says since when an object is closed and shows its last state, and what to do about an unknown id", async () => {
    const closing = registry.addChannel({ name: "short-lived", state: "READY" });
    const page = await targetPage.open(`/object/channel/${closing.id}`);
    await page.getByRole("heading", { name: "short-lived" }).waitFor();
    closing.close();
    await page.getByText(/^Closed .*This is its last state/).waitFor();
    await page.getByRole("heading", { name: "short-lived" }).waitFor();
    await page.goto(new URL("/object/channel/999999", page.url()).href);
    await page.getByText("There is no channel 999999.").waitFor();
    await page.getByRole("link", { name: "Show all connections" }).waitFor();
    await page.goto(new URL("/object/thing/0", page.url()).href);
    await page.getByText("This is not the address of an object.").waitFor();
  });

  test("shows the channels, servers and sockets of a process with grpc-js, and opens each of them", async () => {
    const page = await grpcPage.open("/connections?as=table");
    // grpc-js numbers each kind separately, so the ids are the same.
    for (const kind of ["server", "channel", "subchannel", "socket"]) {
      await page.locator(`tr[data-key^="|${kind}|"]`).first().click();
      await expect.poll(() => page.locator(".object-kind").textContent()).toMatch(new RegExp(`(^| )${kind} \\d`));
    }
    await page.getByRole("row", { name: /streams started/ }).waitFor();
  });

  test("[CZ-D-CORRECT-8] shows which values of a grpc-js process were corrected, and why", async () => {
    const page = await grpcPage.open("/connections?as=table");
    // The connection of the page has windows that differ. So has that of each read, which does not last.
    const readUnequal = async (): Promise<bigint[]> => {
      await using source = connectChannelz(grpcTarget);
      const { socketRef } = await source.getServerSockets((await source.getServers()).server[0]?.ref?.serverId ?? 0n);
      const sockets = await Promise.all(socketRef.map(({ socketId }) => source.getSocket(socketId)));
      return sockets.flatMap(({ socket }) =>
        socket?.data?.localFlowControlWindow === socket?.data?.remoteFlowControlWindow
          ? []
          : (socket?.ref?.socketId ?? []),
      );
    };
    const first = await readUnequal();
    let lasting: bigint[] = [];
    // The connection of the first read may need a while to end.
    await expect
      .poll(async () => {
        const again = await readUnequal();
        lasting = first.filter((id) => again.includes(id));
        return lasting.length;
      })
      .toBe(1);
    await page.goto(new URL(`/object/socket/${lasting[0]}`, page.url()).href);
    const corrected = page.getByRole("region", { name: "Corrected values" });
    await corrected
      .getByRole("heading", { name: "the local and the remote flow-control window are exchanged." })
      .waitFor();
    await corrected
      .getByText(
        "The process sent: the remote window as local_flow_control_window, and the local one as remote_flow_control_window.",
      )
      .waitFor();
    await corrected.getByText("Known from grpc-go, grpc-js.").waitFor();
    await checkAccessibility(page);
  });

  test("copies the id and the link of an object", async () => {
    const page = await targetPage.open(`/object/channel/${orders.id}`, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.getByRole("button", { name: "Copy link" }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(page.url());
    await page.getByRole("button", { name: "Copy id" }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(String(orders.id));
  });

  test.each(["light", "dark"] as const)("passes axe for a channel and a socket, in %s colours", async (colorScheme) => {
    const page = await targetPage.open(`/object/channel/${orders.id}`, { colorScheme });
    await page.getByRole("heading", { name: "orders" }).waitFor();
    await page.locator("canvas").first().waitFor();
    await checkAccessibility(page);
    await page.goto(new URL(`/connections?panel=/object/socket/${secured.id}`, page.url()).href);
    await page.getByText("CN=Wirescope test server").first().waitFor();
    await checkAccessibility(page);
  });
});
