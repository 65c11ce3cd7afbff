import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ChannelDataSchema, ChannelConnectivityState_State as State } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { stateName } from "./state-name.js";

test("names every state of the schema, and shows the number of a state that the schema does not know", () => {
  const named = (state: State) => stateName(create(ChannelDataSchema, { state: { state } }));
  for (const [name, number] of Object.entries(State)) {
    if (typeof number === "number") expect(named(number)).toBe(name);
  }
  expect(named(9 as State)).toBe("STATE 9");
  expect(stateName(undefined)).toBe("UNKNOWN");
});
