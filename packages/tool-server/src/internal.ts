export { oauthSummary } from "./auth/oauth/login/oauth-credential.js";
export { hasBrowser, openBrowser } from "./auth/oauth/sign-in/open-browser.js";
export {
  openUserVault,
  userVaultKey,
  userVaultKeyMissing,
  vaultKeyPath,
  vaultKinds,
} from "./auth/vault/choose-vault.js";
export { createUnavailableVault } from "./auth/vault/unavailable-vault.js";
export { type BackOff, backOffMs, createBackOff } from "./back-off.js";
export { type Cancellation, Canceller } from "./cancellation.js";
export { defaultClientInfo } from "./client-info.js";
export { systemClock, waitAtMost } from "./clock.js";
export { configurationFileAt } from "./config/configuration-file.js";
export { readReadme } from "./config/documentation.js";
export { readVariables } from "./config/env-file.js";
export { decodeHeaderText, encodeHeaderText } from "./config/headers.js";
export { mapOAuthSettings } from "./config/oauth-settings.js";
export { variableValue } from "./config/substitute-entry.js";
export { inputPrefix } from "./config/template.js";
export { usesOAuth, whyNoOAuth } from "./config/variable-uses.js";
export { createNetworkLink } from "./connection/bridge/network-link.js";
export { createPipeTransport } from "./connection/bridge/pipe-transport.js";
export { pumpMessages as forwardStdio } from "./connection/bridge/pump-messages.js";
export { noResponse, notSent } from "./connection/call-failure.js";
export { redactValue } from "./connection/connection-failures.js";
export { describeListProblems } from "./connection/listed-items.js";
export { Call, type CallOutcome, type CallRequest } from "./connection/rpc/call.js";
export {
  cancelledIdOf,
  errorObjectOf,
  isFinalRefusal,
  isId,
  isObject,
  metaOf,
  quoted,
  type RequestId,
  RpcError,
  type RpcErrorObject,
  type RpcMessage,
  type RpcNotification,
  type RpcObject,
  type RpcRequest,
  type RpcResponse,
  rpcCodes,
  statusOf,
} from "./connection/rpc/json-rpc.js";
export { createLineReader } from "./connection/rpc/lines.js";
export { encodeMessage, jsonLengthOf, type ParsedMessage, parseMessage } from "./connection/rpc/message.js";
export {
  type Envelope,
  type Era,
  hasEnvelope,
  type Implementation,
  isLevelAtLeast,
  isLogLevel,
  isModernVersion,
  type LogLevel,
  legacyVersions,
  logLevels,
  metaKeys,
  missingEnvelopeKeys,
  modernVersions,
  nameFieldOf,
  readEnvelope,
} from "./connection/rpc/protocol.js";
export { oauthFilePath, readOAuthFile } from "./connection/servers/oauth-file.js";
export { openEntry } from "./connection/servers/tool-servers.js";
export { abortable } from "./connection/session-manager.js";
export { createStreamableHttpTransport } from "./connection/transports/streamable-http-transport.js";
export { defaultLimits } from "./connection/transports/transport.js";
export { createReporter } from "./diagnostics.js";
export { describeDuration } from "./duration.js";
export { describeProblem } from "./errors.js";
export { readBoundedFile } from "./files/bounded-file.js";
export { withFileLock } from "./files/file-lock.js";
export { removeLeftoversOf, temporaryNameOf } from "./files/private-file.js";
export { createHttpClient } from "./http/create-http-client.js";
export type { HttpClient } from "./http/http-client.js";
export { InFlightMap, InFlightSet } from "./in-flight.js";
export { type LoadedToolServers, loadToolServers, sandboxSettings } from "./load-tool-servers.js";
export type { Mutable } from "./mutable.js";
export { isSecretName, withoutSecretShapes } from "./secrets/recognize-secrets.js";
export { redactStart } from "./secrets/redactor.js";
export {
  inputsOf,
  openStoredInputs,
  type StoredInputs,
  type StoredInputsOptions,
  usesInputs,
} from "./stored-inputs.js";
export { trustReason } from "./trust/evaluate-trust.js";
export { quoteText } from "./trust/quoted-text.js";
export { renderToolChanges } from "./trust/render-approval.js";
export { uncoveredNotice } from "./trust/uncovered-code.js";
export { portOf } from "./url.js";
