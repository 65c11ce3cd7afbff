import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Explanation, Step } from "@wirescope/tool-server/why";
import { expect, onTestFinished, test } from "vitest";
import { configurationOf, pollOptions } from "../gateway.test.helper.js";
import { explain, startTestAdmin } from "./admin.test.helper.js";
import { createDiagnoses } from "./explain.js";

/** A server that responds only when the test says so. */
async function startSilentServer(): Promise<{ readonly url: string; fail(): void }> {
  const waiting: ServerResponse[] = [];
  let isFailing = false;
  const server = createServer((_, response) => {
    if (isFailing) response.writeHead(500).end();
    else waiting.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    fail() {
      isFailing = true;
      for (const response of waiting) response.writeHead(500).end();
    },
  };
}

test("[TS-D-ADMIN-7] streams each step while the diagnosis runs, and all of them to a caller that joins later", async () => {
  const server = await startSilentServer();
  const { admin } = await startTestAdmin({ slow: { type: "http", url: server.url } });
  const follow = (): { readonly names: string[]; readonly ended: Promise<boolean | undefined> } => {
    const names: string[] = [];
    const read = async (): Promise<boolean | undefined> => {
      for await (const { event } of admin.explain({ server: "slow" })) {
        if (event.case === "step") names.push(event.value.name);
        else return event.value?.well;
      }
      return undefined;
    };
    return { names, ended: read() };
  };
  const first = follow();
  const before = ["configuration", "trust", "name", "connection"];
  await expect.poll(() => first.names, pollOptions).toEqual(before);
  const second = follow();
  await expect.poll(() => second.names, pollOptions).toEqual(before);
  server.fail();
  expect(await Promise.all([first.ended, second.ended])).toEqual([false, false]);
  expect(first.names).toContain("http");
});

test("says that a server is disabled, unless another configuration enables it", async () => {
  const server = await startSilentServer();
  server.fail();
  const disabled = configurationOf({ api: { type: "http", url: server.url, disabled: true } });
  const { admin, gateway } = await startTestAdmin({}, { configurations: [disabled] });
  const { explanation } = await explain(admin, "api");
  expect(explanation.well).toBe(false);
  expect(explanation.causes).toMatchObject([
    { code: "entry-disabled", fix: { advice: expect.stringContaining('remove "disabled": true') } },
  ]);
  await gateway.reload([disabled, configurationOf({ api: { type: "http", url: server.url } })]);
  expect((await explain(admin, "api")).explanation.causes[0]?.code).toBe("server-failing");
  await expect(explain(admin, "other")).rejects.toThrow('Server "other" does not exist');
});

test("reports the failure of a diagnosis to every caller, and starts a new one after it", async () => {
  const diagnoses = createDiagnoses();
  const { signal } = new AbortController();
  let fail = (_: Error): void => {};
  const start = (): Promise<Explanation> =>
    new Promise((_, reject) => {
      fail = reject;
    });
  const results = [1, 2].map(() => diagnoses.follow("a", start, signal).next());
  fail(new Error("lost"));
  for (const result of results) await expect(result).rejects.toThrow("lost");
  const step: Step = { step: "trust", outcome: "ok", evidence: [] };
  const succeed = async (onStep: (step: Step) => void): Promise<Explanation> => {
    onStep(step);
    return { server: "a" } as Explanation;
  };
  const again = diagnoses.follow("a", succeed, signal);
  expect([await again.next(), await again.next()]).toEqual([
    { done: false, value: step },
    { done: true, value: { server: "a" } },
  ]);
});

test("lets a caller leave a diagnosis that continues for the others", async () => {
  const diagnoses = createDiagnoses();
  const leaving = new AbortController();
  let end = (_: Explanation): void => {};
  const start = (): Promise<Explanation> =>
    new Promise((resolve) => {
      end = resolve;
    });
  const left = diagnoses.follow("a", start, leaving.signal).next();
  const stayed = diagnoses.follow("a", start, new AbortController().signal).next();
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  end({ server: "a" } as Explanation);
  expect(await stayed).toMatchObject({ done: true, value: { server: "a" } });
});
