export { type NodeRef, nodeId, parseNodeId } from './node-id.ts'
export * from './numbers.ts'
export * from './run-record.ts'
export * from './state-adapter.ts'
