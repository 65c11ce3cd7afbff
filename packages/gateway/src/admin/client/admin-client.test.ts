import { expect, test } from "vitest";
import { startTestAdmin } from "../admin.test.helper.js";
import { createAdminClient } from "./index.js";

test("ends the request of a stream when the caller leaves the loop", async () => {
  const { gateway } = await startTestAdmin({});
  const signals: (AbortSignal | null | undefined)[] = [];
  const admin = createAdminClient({
    url: gateway.url ?? "",
    token: gateway.token,
    fetch: (input, init) => {
      signals.push(init?.signal);
      return fetch(input, init);
    },
  });
  for await (const { servers } of admin.watchServers({})) {
    expect(servers).toEqual([]);
    break;
  }
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});
