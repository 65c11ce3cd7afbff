import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { difference } from "./difference.test.helper.js";
import { sent } from "./post-bytes.test.helper.js";
import { type Echo, startEcho } from "./two-ways.test.helper.js";

let direct: Echo;
let throughNode: Echo;
beforeAll(async () => {
  [direct, throughNode] = await Promise.all([startEcho(true), startEcho(false)]);
});
afterAll(async () => {
  await Promise.all([direct, throughNode].map(({ listener }) => listener.close({ deadlineMs: 0 })));
});

test("[CZ-D-LISTEN-10] whatever bytes come, in whatever pieces, the answers are those of Node's server", async () => {
  await fc.assert(
    fc.asyncProperty(sent, async (bytes) => {
      expect(await difference(direct, throughNode, bytes)).toBeUndefined();
    }),
    { numRuns: 400 },
  );
  // Else nothing was compared.
  expect(direct.postsPastNode()).toBeGreaterThan(200);
});
