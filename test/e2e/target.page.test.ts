import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRegistry } from "@wirescope/channelz/registry";
import { readSnapshot } from "@wirescope/channelz/timeline";
import { createRecording } from "@wirescope/channelz/timeline/node";
import { afterAll, describe, expect, test } from "vitest";
import { isChromiumInstalled } from "./chromium.test.helper.js";
import { runCommand } from "./command.test.helper.js";
import { root } from "./npm-start.test.helper.js";
import { checkAccessibility, checkEveryView, phone, screen } from "./page.test.helper.js";
import { useTargetPage } from "./page-target.test.helper.js";

// A server of grpc-js, a client that calls it twice a second, and a client of a port that nothing listens on.
const program = `
  import * as grpc from "@grpc/grpc-js";
  const bytes = (value) => value;
  const server = new grpc.Server();
  const Say = { path: "/t.T/Say", requestStream: false, responseStream: false, requestSerialize: bytes,
    requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes };
  server.addService({ Say }, { Say: (_, done) => done(null, Buffer.from("y")) });
  server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (_, port) => {
    const call = (target) => {
      const client = new grpc.Client(target, grpc.credentials.createInsecure());
      const say = () => client.makeUnaryRequest("/t.T/Say", bytes, bytes, Buffer.from("x"), () => setTimeout(say, 500));
      say();
    };
    call("127.0.0.1:" + port);
    call("127.0.0.1:1");
    console.log("started");
  });
`;

const folder = mkdtempSync(join(tmpdir(), "wirescope-target-"));
const target = `unix:${join(folder, "process.sock")}`;
let observed: ChildProcess | undefined;

async function startObserved(): Promise<void> {
  observed = spawn(
    process.execPath,
    ["--import", "@wirescope/instrument/auto", "--input-type=module", "--eval", program],
    {
      cwd: root,
      env: { ...process.env, NODE_OPTIONS: "", WIRESCOPE_LISTEN: target },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await once(observed.stdout!, "data");
}

async function stopObserved(): Promise<void> {
  const ended = observed && once(observed, "exit");
  observed?.kill("SIGKILL");
  await ended;
}

describe.skipIf(!isChromiumInstalled)("the page of a grpc-js process", () => {
  const targetPage = useTargetPage(async () => {
    await startObserved();
    return [target];
  });
  afterAll(async () => {
    await stopObserved();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([
    ["screen", screen],
    ["phone", phone],
  ] as const)("shows the views of a process, in light and dark colours on a %s", async (_name, options) => {
    const page = await targetPage.open("/", options);
    const problems = page.getByRole("table", { name: "problems" });
    await problems.getByText("127.0.0.1:1", { exact: true }).waitFor();
    await page.getByRole("link", { name: "1 ready" }).waitFor();
    const views = page.getByRole("navigation", { name: "Views" }).getByRole("link");
    await expect.poll(() => views.allTextContents()).toEqual(["Overview", "Connections", "History"]);
    await problems.getByText("127.0.0.1:1", { exact: true }).click();
    const panel = page.getByRole("complementary", { name: "Object" });
    await panel.getByText("ECONNREFUSED").first().waitFor();
    const channel = new URL(page.url()).searchParams.get("panel") ?? "";
    await page.goto(new URL("/connections?as=table&q=socket", page.url()).href);
    const objects = page.getByRole("table", { name: "objects" }).locator("tbody tr");
    await objects.filter({ hasText: "socket" }).first().click();
    await panel.waitFor();
    const socket = new URL(page.url()).searchParams.get("panel") ?? "";
    await checkEveryView(page, {
      "/": problems.getByText("127.0.0.1:1", { exact: true }),
      "/connections?as=graph": page.locator("a.node").first(),
      "/connections?as=table": objects.first(),
      "/connections?as=tree": page.getByRole("tree"),
      "/history": page.getByRole("table", { name: "changes" }),
      [channel]: page.getByRole("heading", { name: "Trace" }),
      [socket]: page.locator(".object-kind").getByText("socket"),
    });
  });

  test("shows the channels in a state after a click on the link of that state", async () => {
    const page = await targetPage.open("/", screen);
    await page.getByRole("link", { name: "1 ready" }).click();
    await page.locator("a.node-channel").first().waitFor();
    expect(await page.locator(".node-problem").count()).toBe(0);
  });

  test("opens a recording of the process that is dropped on it, and shows the process again afterwards", async () => {
    const file = join(folder, "morning.wsr");
    const options = ["--target", target, "--interval", "100ms", "--for", "1s"];
    expect(await runCommand(["record", file, ...options])).toMatchObject({ code: 0 });
    const page = await targetPage.open("/connections");
    const content = readFileSync(file).toString("base64");
    const dropped = await page.evaluateHandle((base64) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))], "morning.wsr"));
      return transfer;
    }, content);
    await page.dispatchEvent("main", "dragover", { dataTransfer: dropped });
    await page.getByText("Drop a recording to open it").waitFor();
    await page.dispatchEvent("main", "drop", { dataTransfer: dropped });
    await page.getByText("recording morning.wsr").waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("table", { name: "problems" }).getByText("127.0.0.1:1", { exact: true }).click();
    await page.getByRole("complementary", { name: "Object" }).getByText("ECONNREFUSED").first().waitFor();
    await page.getByRole("slider", { name: "Moment that the page shows" }).focus();
    await page.keyboard.press("Home");
    await page.getByRole("button", { name: "Close morning.wsr" }).click();
    await page.getByText("live", { exact: true }).waitFor();
  });

  test("says that the process does not respond, and shows it again when it is back", async () => {
    const page = await targetPage.open("/");
    await page.getByRole("link", { name: "1 ready" }).waitFor();
    // The page may read one of its sockets meanwhile.
    targetPage.expectProblems(/503 \(/);
    await stopObserved();
    await page.getByRole("alert").getByText(target).waitFor();
    await startObserved();
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "1 ready" }).waitFor();
  });
});

describe.skipIf(!isChromiumInstalled)("the page of a recording", () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-recorded-page-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const recordedPage = useTargetPage(async () => {
    const path = join(folder, "night.wsr");
    const writer = createRecording(path);
    const registry = createRegistry();
    for (const [index, state] of (["READY", "TRANSIENT_FAILURE"] as const).entries()) {
      const channel = registry.addChannel({ name: "orders", target: "orders:443", state });
      writer.append({ ...(await readSnapshot(registry)), timeMs: Date.UTC(2026, 0, 5, 3, index * 5) });
      channel.close();
    }
    writer.close();
    return [`file:${path}`];
  });

  test("says that it is a recording, of when and how long, and has no now", async () => {
    const page = await recordedPage.open("/");
    const header = page.locator("header");
    await header.getByText(/^recorded .*2026.*, 5 min$/).waitFor();
    await header.getByText("recording", { exact: true }).waitFor();
    expect(await header.getByText("live", { exact: true }).count()).toBe(0);
    const time = page.getByRole("region", { name: "Time" });
    await time.getByText("end", { exact: true }).waitFor();
    await time.getByText("5 min before the end").waitFor();
    await checkAccessibility(page);
  });
});
