import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { PhaseSubject } from "@wirescope/tool-server";
import {
  CallBodySchema,
  type Call as CallMessage,
  CallOutcome,
  type CallPhase,
  CallPhaseSchema,
  CallSchema,
  type CaptureState,
  CaptureStateSchema,
  PhaseKind,
} from "../../gen/wirescope/v1/calls_pb.js";
import type { CallRecord } from "./call-record.js";
import type { Capture, CapturedBody } from "./capture.js";
import { isIds, type ObjectIds, type PhaseName, type RecordedPhase } from "./recorded-phases.js";

const outcomes = {
  ok: CallOutcome.OK,
  "tool-error": CallOutcome.TOOL_ERROR,
  error: CallOutcome.ERROR,
  cancelled: CallOutcome.CANCELLED,
  input: CallOutcome.INPUT,
} as const satisfies Record<NonNullable<CallRecord["outcome"]>, CallOutcome>;

const kinds = {
  queued: PhaseKind.QUEUED,
  credential: PhaseKind.CREDENTIAL,
  refresh: PhaseKind.REFRESH,
  helper: PhaseKind.HELPER,
  "sign-in": PhaseKind.SIGN_IN,
  "step-up": PhaseKind.STEP_UP,
  discovery: PhaseKind.DISCOVERY,
  registration: PhaseKind.REGISTRATION,
  connecting: PhaseKind.CONNECTING,
  lookup: PhaseKind.LOOKUP,
  tcp: PhaseKind.TCP,
  proxy: PhaseKind.PROXY,
  tls: PhaseKind.TLS,
  request: PhaseKind.REQUEST,
  server: PhaseKind.SERVER,
  response: PhaseKind.RESPONSE,
  retry: PhaseKind.RETRY,
} as const satisfies Record<PhaseName, PhaseKind>;

/** Options for the conversion of records to messages. */
export interface MessageOptions {
  readonly prefix: string;
  /** Redacts text about a server. */
  readonly redact: (text: string, server: string | undefined, kind?: "own") => string;
}

/** A call without its phases and body, for a list. */
export function callToMessage(record: CallRecord, { prefix, redact }: MessageOptions): CallMessage {
  const { server } = record;
  return create(CallSchema, {
    id: `${prefix}${record.number}`,
    startTime: timestampFromMs(record.startMs),
    ...(record.durationUs < 0 ? {} : { duration: durationOf(record.durationUs) }),
    outcome: record.outcome === undefined ? CallOutcome.RUNNING : outcomes[record.outcome],
    reason: record.reason ?? "",
    client: redact(record.client, undefined, "own"),
    session: record.session ?? "",
    server: server ?? "",
    // A client can invent a method.
    method: redact(record.method, undefined, "own"),
    name: record.name === undefined ? "" : redact(record.name, server, "own"),
    hasBody: record.body !== undefined,
  });
}

/** A call with its phases, and its body for an administrator. */
export function callToFullMessage(
  record: CallRecord,
  options: MessageOptions & {
    readonly isAdministrator: boolean;
    readonly idsOf: (subject: PhaseSubject) => ObjectIds;
  },
): CallMessage {
  const message = callToMessage(record, options);
  const phases = record.phases.list.filter((phase) => !isInstant(phase));
  message.phases = phases.map((phase) => phaseToMessage(phase, options.idsOf));
  message.omittedPhases = record.phases.omitted;
  if (options.isAdministrator && record.body !== undefined) message.body = bodyToMessage(record.body);
  return message;
}

/** Whether a phase is too short to show: a credential whose headers were cached. */
function isInstant({ name, startUs, endUs, hasFailed }: RecordedPhase): boolean {
  return name === "credential" && !hasFailed && endUs >= 0 && endUs - startUs < instantUs;
}

const instantUs = 200;

function phaseToMessage(
  { name, depth, startUs, endUs, hasFailed, reason, used }: RecordedPhase,
  idsOf: (subject: PhaseSubject) => ObjectIds,
): CallPhase {
  const ids = used === undefined ? undefined : isIds(used) ? used : idsOf(used);
  const { channel = 0, subchannel = 0, socket = 0 } = ids ?? {};
  return create(CallPhaseSchema, {
    kind: kinds[name],
    start: durationOf(startUs),
    ...(endUs < 0 ? {} : { duration: durationOf(endUs - startUs) }),
    depth,
    failed: hasFailed,
    reason: reason ?? "",
    channelId: BigInt(channel),
    subchannelId: BigInt(subchannel),
    socketId: BigInt(socket),
  });
}

function bodyToMessage({ request, response }: CapturedBody) {
  return create(CallBodySchema, {
    request: request.text,
    requestTruncated: request.isTruncated,
    response: response?.text ?? "",
    responseTruncated: response?.isTruncated ?? false,
  });
}

export function captureToMessage({ isAllowed, isOn, untilMs }: Capture): CaptureState {
  const until = untilMs();
  return create(CaptureStateSchema, {
    allowed: isAllowed,
    enabled: isOn(),
    ...(until === undefined ? {} : { until: timestampFromMs(until) }),
  });
}

/** A duration of whole microseconds. */
export function durationOf(us: number): Duration {
  return create(DurationSchema, { seconds: BigInt(Math.floor(us / 1e6)), nanos: (us % 1e6) * 1000 });
}
