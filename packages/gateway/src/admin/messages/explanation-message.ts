import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Cause, causeTable, type Demand, type Explanation, type Step } from "@wirescope/tool-server";
import {
  type CauseSchema,
  type CheckSchema,
  type ExplainResponse,
  ExplainResponseSchema,
  Transport,
} from "../../gen/wirescope/v1/admin_pb.js";
import { checkOutcomes, transports } from "./enums.js";

/** An explanation as a message. */
export function explanationToMessage(explanation: Explanation): ExplainResponse {
  const { server, type, isWell, causes, notes, steps, demands, permissions = [] } = explanation;
  return create(ExplainResponseSchema, {
    server,
    transport: type === undefined ? Transport.UNSPECIFIED : transports[type],
    well: isWell,
    causes: causes.map(causeInit),
    notes: notes.map((note) => causeInit({ ...note, weight: 0 })),
    steps: steps.map((step) => checkInit(step.step, step)),
    demands: demands.map((demand) => checkInit(demand.demand, demand)),
    permissions: [...permissions],
  });
}

function causeInit({ cause, weight, message, evidence, mend }: Cause): MessageInitShape<typeof CauseSchema> {
  const { what, command = "", place, write = "" } = mend;
  return {
    code: cause,
    title: causeTable[cause],
    weight,
    message,
    evidence: [...evidence],
    mend: { what, command, write, ...(place && { file: place.file, line: place.line, column: place.column }) },
  };
}

function checkInit(name: string, { outcome, evidence }: Step | Demand): MessageInitShape<typeof CheckSchema> {
  return { name, outcome: checkOutcomes[outcome], evidence: [...evidence] };
}
