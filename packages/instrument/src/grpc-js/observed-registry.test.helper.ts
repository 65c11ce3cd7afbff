import * as grpc from "@grpc/grpc-js";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { onTestFinished } from "vitest";
import { observeGrpcJs } from "./observe-grpc-js.js";

/** A registry that shows grpc-js until the test ends. */
export function createObservedRegistry(): Registry {
  const registry = createRegistry();
  const observation = observeGrpcJs(registry, grpc);
  onTestFinished(() => observation.stop());
  return registry;
}
