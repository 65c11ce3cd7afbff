import { onTestFinished } from "vitest";
import { mergeSources, type OriginSource } from "./client/index.js";
import { correctSource } from "./corrected/index.js";
import { connectChannelz } from "./dial/connect.js";
import { listenChannelz } from "./listener/index.js";
import { redactSource } from "./redact.js";
import { createRegistry, type Registry } from "./registry/index.js";
import { fillRegistry, testSourceContract } from "./source-contract.test.helper.js";

// The registry releases what an application drops.
const held: unknown[] = [];

function filled(): Registry {
  const registry = createRegistry();
  held.push(fillRegistry(registry));
  return registry;
}

const part = (origin: string, source: OriginSource["source"]): OriginSource => ({ origin, target: origin, source });

testSourceContract("a registry", 1, async () => filled());

testSourceContract("a client of another process", 1, async () => {
  const listener = await listenChannelz(filled());
  const source = connectChannelz(listener.address);
  onTestFinished(async () => {
    await source.close();
    await listener.close();
  });
  return source;
});

testSourceContract("a redacted source", 1, async () => redactSource(filled(), { addresses: false }));

testSourceContract("a corrected source", 1, async () => correctSource(filled()));

testSourceContract("one source that is merged", 1, async () => mergeSources([part("only:1", filled())]));

testSourceContract("three sources that are merged", 3, async () =>
  mergeSources(["c:3", "a:1", "b:2"].map((origin) => part(origin, filled()))),
);
