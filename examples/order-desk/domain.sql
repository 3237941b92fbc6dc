-- What the application owns, before and after the move: its orders and the states that they may be in.
create schema desk;

create table desk.orders (
  id uuid primary key default gen_random_uuid(),
  amount integer not null check (amount > 0),
  status text not null default 'placed' check (status in ('placed', 'paid', 'shipped', 'failed')),
  charge_id text unique,
  parcel_id text unique,
  failure text,
  placed_at timestamptz not null default now(),
  constraint paid_with_a_charge check (status not in ('paid', 'shipped') or charge_id is not null),
  constraint shipped_in_a_parcel check (status <> 'shipped' or parcel_id is not null)
);
