// For authors of storages: docs/storage.md. Before 1.0, it can change in any release.

export type {
  Adapter,
  CheckContext,
  Context,
  Draft,
  Entry,
  Filter,
  Finding,
  GenerateId,
  Order,
  Page,
  Position,
  Query,
  Receipt,
  Receipts,
  Referrer,
  Refusal,
  RelationKey,
  Replacement,
  Shape,
  Storage,
  StorageUse,
  Supports,
  TransactionHandle,
  Unreachable,
  Version
} from './contract.ts'
