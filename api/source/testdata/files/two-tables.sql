-- MySQL dump 10.13
CREATE DATABASE `go`;
USE `go`;
CREATE TABLE `a_log` (`click_id` int, `click_time` datetime, `shorturl` varchar(100), `referrer` varchar(200), `user_agent` varchar(255), `ip_address` varchar(41), `country_code` char(2));
INSERT INTO `a_log` VALUES (1,'2024-01-06 10:00:00','one','direct','','',''),(2,'2024-01-06 11:00:00','one','direct','','','');
CREATE TABLE `a_url` (`keyword` varchar(100), `url` text, `title` text, `timestamp` timestamp, `ip` varchar(41), `clicks` int);
INSERT INTO `a_url` VALUES ('one','https://a.example/1','','2024-01-02 03:04:05','',2);
CREATE TABLE `b_log` (`click_id` int, `click_time` datetime, `shorturl` varchar(100), `referrer` varchar(200), `user_agent` varchar(255), `ip_address` varchar(41), `country_code` char(2));
INSERT INTO `b_log` VALUES (1,'2024-01-07 10:00:00','one','direct','','','');
CREATE TABLE `b_url` (`keyword` varchar(100), `url` text, `title` text, `timestamp` timestamp, `ip` varchar(41), `clicks` int);
INSERT INTO `b_url` VALUES ('one','https://b.example/1','','2024-01-02 03:04:05','',1),('two','https://b.example/2','','2024-01-02 03:04:05','',0);
USE `old`;
CREATE TABLE `a_url` (`keyword` varchar(100), `title` text, `url` text, `timestamp` timestamp, `clicks` int);
INSERT INTO `a_url` VALUES ('one','Old','https://old.example/1','2014-01-02 03:04:05',1);
CREATE TABLE `links` (`id` int, `short_url` varchar(100), `long_url` text, `ip` varchar(41), `clicks` int, `secret_key` text, `is_disabled` int, `created_at` timestamp, `updated_at` timestamp);
INSERT INTO `links` VALUES (1,'p','https://polr.example/','',0,'',0,'2016-01-02 03:04:05','2016-01-02 03:04:05');
